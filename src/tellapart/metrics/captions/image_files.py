"""The image file of each caption: by COCO's `file_name`, by its id as a file's name, or by a list of paths."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.text_files import read_text
from tellapart.images.folders import images_in

_LAST_NUMBER = re.compile(r"0*(\d+)$")


def image_files(images: Path, keys: Sequence[Hashable], references: Sequence[Path] = ()) -> list[Path]:
    """The file of each image, in the order of its ids.

    images: a folder, searched with its folders inside; or a text file with one path per image, in the order of the
    references. references: COCO annotations among these files name the file of each image.
    """
    if images.is_dir():
        return _in_folder(images, keys, _stated(references))
    if not images.is_file():
        raise InputError(f"{images} does not exist; give a folder of images, or a text file with one path per image.")
    paths = [images.parent / line.strip() for line in read_text(images).splitlines() if line.strip()]
    if len(paths) != len(keys):
        raise InputError(f"{images} lists {len(paths)} images, but there are captions of {len(keys)}.")
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise InputError(f"{images} lists {len(missing)} files that do not exist, the first of them {missing[0]}.")
    return paths


def _stated(references: Sequence[Path]) -> dict[str, str]:
    """File names by image id, as COCO annotations state them."""
    found: dict[str, str] = {}
    for path in references:
        if path.suffix.lower() != ".json":
            continue
        data = json.loads(read_text(path))
        rows = data.get("images") if isinstance(data, dict) else None
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict) and "id" in row and isinstance(row.get("file_name"), str):
                found[str(row["id"])] = row["file_name"]
    return found


def _in_folder(folder: Path, keys: Sequence[Hashable], stated: Mapping[str, str]) -> list[Path]:
    by_name: dict[str, list[Path]] = {}
    for path in images_in(folder):
        number = _LAST_NUMBER.search(path.stem)
        for name in {path.relative_to(folder).as_posix(), path.name, path.stem, *(number.groups() if number else ())}:
            by_name.setdefault(name, []).append(path)
    found = []
    for key in keys:
        wanted = stated.get(str(key), str(key))
        paths = by_name.get(wanted) or by_name.get(Path(wanted).name) or []
        if len(paths) != 1:
            what = "no image" if not paths else f"{len(paths)} images ({paths[0]}, {paths[1]}, …)"
            raise InputError(
                f"{folder} has {what} for the captions of {key!r}; name files by the ids of the captions, or list one "
                "path per image in a text file."
            )
        found.append(paths[0])
    return found
