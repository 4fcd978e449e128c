"""Read captions from COCO annotations and results (JSON), JSON lines, Flickr token files and plain text."""

import json
import re
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError

Captions = dict[Hashable, list[str]]
FLICKR_LINE = re.compile(r"([^\t]+)#[0-9]+\t(.*)")
LINE_END = re.compile("\r\n|\r|\n")  # not U+2028 and its like, which may stand inside a caption


def read_captions(path: Path) -> Captions:
    """All captions of each image, in the file's order. The image id of a line of plain text is its number from 0."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8.") from error
    if not text.strip():
        raise InputError(f"{path} is empty: it has no captions.")
    reader = {".json": _json, ".jsonl": _json_lines}.get(path.suffix.lower(), _plain)
    found: Captions = {}
    for key, caption in reader(path, text):
        found.setdefault(key, []).append(caption)
    return found


Pairs = Iterable[tuple[Hashable, str]]


def _json(path: Path, text: str) -> Pairs:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} is not JSON: {error.msg} in line {error.lineno}. JSON lines end in .jsonl."
        ) from error
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, lists in lists in lists
        raise InputError(f"{path}: this JSON cannot be read: {error}.") from error
    if isinstance(data, dict) and isinstance(data.get("annotations"), list):
        rows = data["annotations"]
    elif isinstance(data, list):
        rows = data
    elif isinstance(data, dict) and all(isinstance(value, str | list) for value in data.values()):
        rows = [
            {"image_id": key, "captions" if isinstance(value, list) else "caption": value}
            for key, value in data.items()
        ]
    else:
        raise InputError(
            f"{path} has neither COCO annotations (an object with a list `annotations`) nor results (a list of objects "
            "with `image_id` and `caption`)."
        )
    return [pair for number, row in enumerate(rows) for pair in _row(row, f"{path}, entry {number}")]


def _json_lines(path: Path, text: str) -> Pairs:
    found: list[tuple[Hashable, str]] = []
    for number, line in enumerate(LINE_END.split(text), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}, line {number} is not JSON: {error.msg}.") from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number}: this JSON cannot be read: {error}.") from error
        found.extend(_row(row, f"{path}, line {number}"))
    return found


def _row(row: Any, where: str) -> list[tuple[Hashable, str]]:
    """The (image id, caption) pairs of an object with `image_id` (or `id`) and `caption` or a list of `captions`."""
    if not isinstance(row, dict):
        raise InputError(f"{where}: expected an object with `image_id` and `caption`, found {type(row).__name__}.")
    key = row.get("image_id", row.get("id"))
    if not isinstance(key, str | int) or isinstance(key, bool):
        raise InputError(f"{where}: `image_id` is missing or neither a number nor a string.")
    captions = row["captions"] if "captions" in row else [row.get("caption")]
    if not isinstance(captions, list) or not all(isinstance(caption, str) for caption in captions) or not captions:
        raise InputError(f"{where}: `caption` must be a string (or `captions` a list of strings).")
    return [(key, caption) for caption in captions]


def _plain(path: Path, text: str) -> Pairs:
    """One line per image, its captions separated by tabs; or a Flickr token file (name#0<TAB>...)."""
    lines = LINE_END.split(text)
    if lines[-1] == "":
        lines.pop()
    flickr = [FLICKR_LINE.fullmatch(line) for line in lines]
    if 2 * sum(map(bool, flickr)) > sum(bool(line.strip()) for line in lines):
        odd = [number for number, line in enumerate(lines) if line.strip() and not flickr[number]]
        if odd:
            raise InputError(
                f"{path}, line {odd[0] + 1} has no `name#number` and tab before its caption, as most lines have: "
                "add it, or remove the names from all lines."
            )
        return [(match.group(1), match.group(2)) for match in flickr if match]
    return [(number, caption) for number, line in enumerate(lines) for caption in line.split("\t")]
