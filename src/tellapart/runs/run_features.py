"""What a run sees of an image: features on disk, or rows of a backbone in its own folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError

FILE = ".safetensors"


def run_features(data: Mapping[str, Any], folder: Path) -> dict[str, Any] | None:
    """The features that a run's data.json describes, with the path of a backbone that was tuned for the run.

    None for a run that sees no images.
    """
    features = data.get("features") or data.get("vision")
    if features is None:
        return None
    return {**features, "backbone": backbone_path(str(features.get("backbone", "")), folder)}


def backbone_path(name: str, folder: Path) -> str:
    """A backbone's name; a file's path, which starts at the run folder. A file that moved with the run is found."""
    if not name.endswith(FILE):
        return name
    path = Path(name)
    places = (folder / path, folder / path.name, folder.parent / path.name)
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise InputError(f"{folder} was trained with the backbone {name}, which is not there; copy it to {places[0]}.")
    return str(found.resolve())


def backbone_identity(name: str) -> str:
    """Equal for equal backbones: the name, or for a file of weights the hash of its bytes."""
    path = Path(name)
    if not name.endswith(FILE) or not path.is_file():
        return name
    stat = path.stat()
    return _file_hash(path, stat.st_size, stat.st_mtime_ns)


@lru_cache
def _file_hash(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
