"""What every reader returns (images, captions, skipped items), and how readers open JSON files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.core.json_text import BrokenJson, parse_json
from tellapart.core.text_files import read_text

UNKNOWN_SPLIT = ""
"""The source names no split; `data/splits.py` decides."""
NO_NUMBER = -1
"""The caption has no id in the source."""
LARGEST_DIGITS = 18
"""Of an id that fits into 64 bits; a longer one counts as none."""


@dataclass(frozen=True)
class ReaderOptions:
    """What a user may tell a reader that it cannot find out itself."""

    encoding: str = "utf-8"
    captions_file: Path | None = None
    image_column: str | None = None
    caption_column: str | None = None
    split_column: str | None = None
    images: Path | None = None
    keep_uncaptioned: bool = False
    fetched: Path | None = None
    """The folder for images that a reader has to fetch; `prepare_pack` gives OUT-images."""


@dataclass(frozen=True)
class SourceImage:
    """An image that a source names."""

    id: str
    name: str
    """File name as in the source; its file is found by path, name or stem."""
    split: str = UNKNOWN_SPLIT
    where: str = ""
    """File and line that name it."""
    width: int = 0
    height: int = 0
    """Size to which boxes in the source refer; 0 if not stated."""


@dataclass(frozen=True)
class SourceCaption:
    """A caption in a source, or a sentence without an image."""

    image: str | None
    """Id of its image; None for a sentence without an image."""
    text: str
    where: str
    split: str = UNKNOWN_SPLIT
    """Of a sentence without an image; a caption has the split of its image."""
    number: int = NO_NUMBER
    """The id of the caption in the source, such as COCO's, to which human ratings refer."""


@dataclass(frozen=True)
class Skipped:
    """One item that was skipped, and why, in words a user can act on."""

    kind: str
    item: str
    where: str
    reason: str


@dataclass
class Source:
    """Everything a reader found."""

    name: str
    root: Path
    """The folder in which images are searched."""
    images: list[SourceImage] = field(default_factory=list)
    captions: list[SourceCaption] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    by_path: bool = False
    """Image names are paths from `root`: they are not searched for, and other files there are ignored."""
    without_files: bool = False
    """The images have no files: their pixels are stored in the pack."""

    def skip(self, kind: str, item: str, where: str, reason: str) -> None:
        """List an item as skipped."""
        self.skipped.append(Skipped(kind, item, where, reason))


def whole_number(value: Any) -> int:
    """An id that a source writes as 7 or "7"; NO_NUMBER for anything else.

    >>> whole_number(7), whole_number("7"), whole_number("seven"), whole_number(None)
    (7, 7, -1, -1)
    >>> whole_number(2**63)
    -1
    """
    text = str(value)
    return int(text) if text.isdecimal() and len(text) <= LARGEST_DIGITS else NO_NUMBER


def read_json_text(path: Path, encoding: str = "utf-8") -> Any:
    """The value in a JSON file, or an InputError that names the broken line."""
    try:
        return parse_json(read_text(path, encoding))
    except BrokenJson as error:
        raise InputError(
            f"{path}, line {error.line}, column {error.column}: broken JSON ({error}); fix or replace the file."
        ) from error


def json_lines(path: Path, source: Source, encoding: str = "utf-8") -> Iterator[tuple[str, dict[str, Any]]]:
    """(where, row) of each valid line of a JSONL file. Broken lines are skipped; an InputError if all are broken."""
    return parsed_lines(path, read_text(path, encoding).split("\n"), source)


def parsed_lines(path: Path, lines: Iterable[str], source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    """`json_lines` of lines that have been read."""
    good = broken = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path.name}, line {number}"
        try:
            row = parse_json(line)
        except BrokenJson as error:
            row, fault = None, f"broken JSON ({error} at column {error.column}); fix the line"
        else:
            fault = "" if isinstance(row, dict) else "not a JSON object {…}; write one object per line"
        if fault:
            broken += 1
            source.skip("broken line", line[:60], where, fault)
        else:
            good += 1
            yield where, row
    if broken and not good:
        raise InputError(f"{path} is not a JSONL file: none of its {broken} lines is a JSON object. {_first(source)}")


def _first(source: Source) -> str:
    last = source.skipped[-1]
    return f"({last.where}: {last.reason}.)"


def entries(
    content: Any, key: str, path: Path, source: Source, fields: Mapping[str, type | tuple[type, ...]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(where, entry) of the list content[key] of a JSON file; entries without these fields are skipped.

    An InputError if the file lacks the list or a complete entry in it.
    """
    advice = "it is not in the expected format; give another `format`."
    if not isinstance(content, dict) or key not in content:
        raise InputError(f"{path} has no '{key}'; {advice}")
    if not isinstance(content[key], list):
        raise InputError(f"{path}: '{key}' is not a list; {advice}")
    good = broken = 0
    for index, entry in enumerate(content[key]):
        where = f"{path.name}, {key}[{index}]"
        row = entry if isinstance(entry, dict) else {}
        faulty = [field for field, kind in fields.items() if not isinstance(row.get(field), kind)]
        if faulty:
            broken += 1
            reason = f"'{faulty[0]}' is missing or has the wrong type; fix the entry"
            source.skip("broken entry", json.dumps(entry)[:60], where, reason)
        else:
            good += 1
            yield where, row
    if broken and not good:
        raise InputError(f"{path}: none of its {broken} '{key}' entries can be read; {advice} {_first(source)}")
