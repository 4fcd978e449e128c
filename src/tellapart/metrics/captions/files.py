"""Reading captions: COCO annotations and results (JSON), JSON lines, Flickr token files, plain text line by line."""

import json
import re
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tellapart.core.errors import InputError

Captions = dict[Hashable, list[str]]
FLICKR_LINE = re.compile(r"([^\t]+)#[0-9]+\t(.*)")
LINE_END = re.compile("\r\n|\r|\n")  # not U+2028 and its like, which may stand inside a caption
Said = TypeVar("Said")


def read_captions(path: Path) -> Captions:
    """All captions of each image, images in the file's order. Lines of plain text are numbered from 0."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8.") from error
    if not text.strip():
        raise InputError(f"{path} is empty: there are no captions in it.")
    reader = {".json": _json, ".jsonl": _json_lines}.get(path.suffix.lower(), _plain)
    found: Captions = {}
    for key, caption in reader(path, text):
        found.setdefault(key, []).append(caption)
    return found


def read_references(paths: Sequence[Path], allow_empty: bool = False) -> Captions:
    """References of each image; of several files (one for each set of references) those of all together."""
    if not paths:
        raise InputError("No references were given: name at least one file with --references.")
    found = read_captions(paths[0])
    for path in paths[1:]:
        more = named_alike(read_captions(path), found)
        if more.keys() != found.keys():
            odd = next(iter(more.keys() ^ found.keys()))
            raise InputError(
                f"{path} has {len(more)} images and {paths[0]} has {len(found)}; {odd!r} is in one of them only: "
                "files of references must be about the same images."
            )
        for key, captions in more.items():
            found[key] = found[key] + captions
    if not allow_empty:
        _reject_empty(found, " and ".join(map(str, paths)))
    return found


def read_candidates(path: Path, allow_empty: bool = False) -> dict[Hashable, str]:
    """One caption an image."""
    found = read_captions(path)
    twice = [key for key, captions in found.items() if len(captions) > 1]
    if twice:
        raise InputError(
            f"{path} has more than one caption for {len(twice)} of its images, the first of them {twice[0]!r}: "
            "keep one candidate for each image."
        )
    if not allow_empty:
        _reject_empty(found, str(path))
    return {key: captions[0] for key, captions in found.items()}


def named_alike(captions: dict[Hashable, Said], references: Captions) -> dict[Hashable, Said]:
    """The captions under the references' own ids, where an id is a number in one file and a string in the other: what
    names the captions of a JSON object is always a string.

    >>> named_alike({"7": "a dog"}, {7: ["dogs"]})
    {7: 'a dog'}
    """
    spelled = {str(key): key for key in references}
    renamed = {spelled.get(str(key), key): caption for key, caption in captions.items()}
    return renamed if len(spelled) == len(references) and len(renamed) == len(captions) else captions


def _reject_empty(found: Captions, name: str) -> None:
    empty = [key for key, captions in found.items() if any(not caption.strip() for caption in captions)]
    if empty:
        raise InputError(
            f"{len(empty)} captions in {name} are empty, the first of them that of image {empty[0]!r}: fill them in, "
            "or give --allow-empty to score them as they are."
        )


Pairs = Iterable[tuple[Hashable, str]]


def _json(path: Path, text: str) -> Pairs:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} is not JSON: {error.msg} in line {error.lineno}. JSON lines end in .jsonl."
        ) from error
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, lists in lists in lists
        raise InputError(f"{path} is JSON that cannot be read: {error}.") from error
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
            f"{path} holds neither COCO annotations (an object with a list `annotations`) nor results (a list of "
            "objects with `image_id` and `caption`)."
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
            raise InputError(f"{path}, line {number} is JSON that cannot be read: {error}.") from error
        found.extend(_row(row, f"{path}, line {number}"))
    return found


def _row(row: Any, where: str) -> list[tuple[Hashable, str]]:
    """One object: an image's `image_id` (or `id`) with its `caption`, or with a list of `captions`."""
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
    """A line for each image, several captions on a line parted by tabs; or a Flickr token file (name#0<TAB>...)."""
    lines = LINE_END.split(text)
    if lines[-1] == "":
        lines.pop()
    flickr = [FLICKR_LINE.fullmatch(line) for line in lines]
    if 2 * sum(map(bool, flickr)) > sum(bool(line.strip()) for line in lines):
        odd = [number for number, line in enumerate(lines) if line.strip() and not flickr[number]]
        if odd:
            raise InputError(
                f"{path}, line {odd[0] + 1} has no `name#number` and tab before its caption, as most lines have: "
                "write it like them, or leave the names out of all."
            )
        return [(match.group(1), match.group(2)) for match in flickr if match]
    return [(number, caption) for number, line in enumerate(lines) for caption in line.split("\t")]
