"""Captions of images whose pixels arrive in parts: captions.json next to folders of stored pixels.

captions.json has a list of captions by image id, or `{"captions": [...], "split": "train"}`. All images that it names
are in the pack, with or without a part that holds them: parts can be added later (`data/add_pixels.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.data.add_pixels import is_part
from tellapart.data.readers.source import (
    UNKNOWN_SPLIT,
    ReaderOptions,
    Source,
    SourceCaption,
    SourceImage,
    read_json_text,
)

FILE = "captions.json"


def parts_in(folder: Path) -> list[Path]:
    """The parts in a folder, in the order of their names."""
    return sorted(path for path in folder.iterdir() if path.is_dir() and is_part(path)) if folder.is_dir() else []


def recognise(source: Path) -> bool:
    """Whether a source is a folder with captions.json and parts."""
    return (source / FILE).is_file() and bool(parts_in(source))


def read(source: Path, options: ReaderOptions) -> Source:
    """The captions; images are without files."""
    path = options.captions_file or source / FILE
    if not path.is_file():
        raise InputError(f"{source} has no {FILE}; give the file as `captions_file`.")
    content = read_json_text(path, options.encoding)
    if not isinstance(content, dict) or not content:
        raise InputError(f"{path} is not a JSON object of captions by image id; give another `format`.")
    result = Source(name=source.resolve().name, root=source, without_files=True)
    for key, value in content.items():
        captions, split = _entry(value)
        where = f"{path.name}, '{key}'"
        if captions is None:
            result.skip("broken entry", key, where, "it is neither a list of captions nor has one; fix the entry")
            continue
        result.images.append(SourceImage(key, key, split, where))
        for order, text in enumerate(captions):
            result.captions.append(SourceCaption(key, str(text).strip(), f"{where}[{order}]"))
    return result


def _entry(value: Any) -> tuple[list[Any] | None, str]:
    """Captions and split of an entry."""
    if isinstance(value, dict):
        found = value.get("captions")
        return (found if isinstance(found, list) else None), str(value.get("split", UNKNOWN_SPLIT))
    return (value if isinstance(value, list) else None), UNKNOWN_SPLIT
