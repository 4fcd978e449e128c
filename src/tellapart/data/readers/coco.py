"""COCO caption JSON, one file per split.

{"images": [{"id": 1, "file_name": "1.jpg"}, …], "annotations": [{"id": 7, "image_id": 1, "caption": "…"}, …]}
"""

from __future__ import annotations

import re
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.data.readers.source import (
    ReaderOptions,
    Source,
    SourceCaption,
    SourceImage,
    entries,
    read_json_text,
    whole_number,
)


def caption_files(folder: Path) -> list[Path]:
    """The caption files in a folder or in its `annotations`."""
    return sorted([*folder.glob("captions_*.json"), *folder.glob("annotations/captions_*.json")])


def json_head(path: Path) -> str:
    """The first characters of a JSON file, enough to recognise its format without parsing gigabytes."""
    with path.open("rb") as file:
        return file.read(65536).decode("utf-8", errors="replace").lstrip("\ufeff \t\r\n")


def recognise(source: Path) -> bool:
    """Whether a source is COCO caption JSON or a folder with such files."""
    if source.is_dir():
        return bool(caption_files(source))
    if source.suffix != ".json":
        return False
    head = json_head(source)
    return (
        head.startswith("{")
        and '"sentences"' not in head
        and any(f'"{key}"' in head for key in ("annotations", "images"))
    )


def read(source: Path, options: ReaderOptions) -> Source:
    """The images and captions of COCO caption files."""
    files = (
        [options.captions_file] if options.captions_file else [source] if source.is_file() else caption_files(source)
    )
    if not files:
        raise InputError(
            f"Neither {source} nor {source / 'annotations'} has a captions_*.json; give it as `captions_file`."
        )
    folder = (
        source if source.is_dir() else source.parent.parent if source.parent.name == "annotations" else source.parent
    )
    result = Source(name=folder.resolve().name, root=options.images or folder)
    seen: dict[str, str] = {}
    for path in files:
        _read_file(path, options, result, seen)
    return result


def split_of(name: str) -> str:
    """The split in a file name: captions_train2017.json is train.

    >>> split_of("captions_val2014.json"), split_of("captions.json")
    ('val', '')
    """
    match = re.search(r"(train|val|dev|test)", name.lower())
    return {"dev": "val"}.get(match.group(1), match.group(1)) if match else ""


def _read_file(path: Path, options: ReaderOptions, result: Source, seen: dict[str, str]) -> None:
    content = read_json_text(path, options.encoding)
    split = split_of(path.name)
    here: set[str] = set()
    for where, entry in entries(content, "images", path, result, {"id": (int, str), "file_name": str}):
        key, name = str(entry["id"]), entry["file_name"]
        if key in seen:
            result.skip("duplicate id", key, where, f"the image id is already in {seen[key]}, which is kept")
            continue
        seen[key] = where
        here.add(key)
        width, height = (size if isinstance(size := entry.get(side), int) else 0 for side in ("width", "height"))
        result.images.append(SourceImage(key, name, split, where, width, height))
    annotation_ids: set[str] = set()
    for where, row in entries(content, "annotations", path, result, {"image_id": (int, str), "caption": str}):
        image, text = str(row["image_id"]), row["caption"]
        own = str(row["id"]) if row.get("id") is not None else where
        if own in annotation_ids:
            result.skip("duplicate id", own, where, "this annotation id is in the file twice; the first is kept")
            continue
        annotation_ids.add(own)
        if image not in here and image in seen:
            result.skip("duplicate id", image, where, f"its image is in {seen[image]}, whose captions are kept")
            continue
        result.captions.append(SourceCaption(image, text.strip(), where, number=whole_number(row.get("id"))))
