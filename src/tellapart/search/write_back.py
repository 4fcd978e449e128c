"""Captions of an index written into the metadata of the photos, or into sidecars next to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.images.folders import file_inside
from tellapart.images.formats import image_suffixes
from tellapart.images.metadata.photo_metadata import read_metadata
from tellapart.images.metadata.writing import Where, write_description
from tellapart.images.opening_files import open_photo
from tellapart.images.remote import is_address
from tellapart.search.file_facts import file_facts
from tellapart.search.filters import Filters
from tellapart.search.protocol import Store
from tellapart.search.query import generated_caption
from tellapart.search.update import only_writer

COLUMNS = ("path", "folder", "caption", "edited", "described", "sure")
SAVED_EVERY = 256
"""Photos; their rows are brought up to date together."""


@dataclass(frozen=True)
class WriteBack:
    """What to write, and where."""

    where: Where = "sidecar"
    only_missing: bool = False
    """Leave photos alone that have a description."""
    generated: bool = False
    """Write generated captions, too, where people wrote none and the captioner is sure."""
    backup: bool = True
    """Keep the original as dog.jpg_original."""
    dry_run: bool = False
    """Write nothing."""
    folder: str = ""
    """Only photos inside it."""


@dataclass
class WrittenBack:
    """What was written, or would be."""

    files: list[str] = field(default_factory=list)
    unchanged: int = 0
    """Photos that had the caption already."""
    kept: int = 0
    """Photos that keep another description, because of `only_missing`."""
    at_addresses: int = 0
    """Photos that have a caption and are at an address, where nothing is written."""
    faults: list[str] = field(default_factory=list)
    """Why each of the others was not written, those at addresses too."""


def write_back(store: Store, settings: WriteBack, advance: Callable[[int], None] = lambda photos: None) -> WrittenBack:
    """Write captions into photos or sidecars, and bring their rows up to date: no photo is encoded again."""
    result = WrittenBack()
    changed: list[dict[str, Any]] = []
    with only_writer(store.where):
        rows = store.rows(COLUMNS, Filters(settings.folder))
        for row in sorted(rows, key=lambda row: row["path"]):
            try:
                if _write(row, settings, result):
                    changed.append(_facts(row["path"]))
            except (InputError, OSError) as error:
                result.faults.append(str(error).removesuffix("."))
            if len(changed) >= SAVED_EVERY:
                store.put_columns(changed)
                changed = []
            advance(1)
        store.put_columns(changed)
        store.sync()
    return result


def _write(row: dict[str, Any], settings: WriteBack, result: WrittenBack) -> bool:
    """Write the caption of one photo; whether a file changed."""
    text, generated = row["edited"], False
    if not text and settings.generated and not row.get("described") and row.get("sure") is not False:
        text, generated = generated_caption(row), True
    if not text:
        return False
    if is_address(row["path"]):
        result.at_addresses += 1
        raise InputError(f"{row['path']} is at an address, where captions cannot be written.")
    file = file_inside(row["path"], row["folder"])
    if file is None:
        raise InputError(f"{row['path']} does not exist, or links out of {row['folder']}.")
    there = _description(file)
    if there == text:
        result.unchanged += 1
    elif there and (settings.only_missing or generated):
        result.kept += 1
    elif settings.dry_run:
        result.files.append(row["path"])
    else:
        path = Path(row["path"]) if settings.where == "sidecar" else file
        written = write_description(path, text, settings.where, generated=generated, backup=settings.backup)
        if written is None:
            result.unchanged += 1
        else:
            result.files.append(str(written))
            return True
    return False


def _description(file: Path) -> str | None:
    image_suffixes()  # registers plugins
    try:
        with open_photo(file, file.suffix) as opened:
            return read_metadata(opened, file).description
    except Exception as error:  # a decoder may raise anything for a broken file
        raise InputError(f"{file} cannot be opened as an image ({error}).") from error


def _facts(path: str) -> dict[str, Any]:
    """The columns of a row that a new description changes."""
    facts = file_facts(Path(path))
    return {
        "path": path,
        "size": facts.size,
        "modified": facts.modified,
        "content": facts.content,
        "described": facts.described,
    }
