"""What every reader returns: names of images, sentences, and what had to be left out; and how readers open text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.core.text_files import read_text

UNKNOWN_SPLIT = ""
"""The source does not say; `prepare` decides."""
NO_NUMBER = -1
"""The source does not number this caption."""


@dataclass(frozen=True)
class ReaderOptions:
    """What a user may tell a reader that it cannot see for itself."""

    encoding: str = "utf-8"
    captions_file: Path | None = None
    image_column: str | None = None
    caption_column: str | None = None
    split_column: str | None = None
    images: Path | None = None
    keep_uncaptioned: bool = False


@dataclass(frozen=True)
class SourceImage:
    id: str
    name: str
    """File name as the source writes it; found on disk by path, name or stem."""
    split: str = UNKNOWN_SPLIT
    where: str = ""
    """File and line that named it."""
    width: int = 0
    height: int = 0
    """Size that boxes in the source refer to, where it is stated."""


@dataclass(frozen=True)
class SourceCaption:
    image: str | None
    """Id of its image; None for a sentence without one."""
    text: str
    where: str
    split: str = UNKNOWN_SPLIT
    """Only of sentences without an image; others share their image's."""
    number: int = NO_NUMBER
    """The caption's own id in the source: COCO's, say, by which ratings made elsewhere speak of it."""


@dataclass(frozen=True)
class Skipped:
    """One item left out, and why, in words a user can act on."""

    kind: str
    item: str
    where: str
    reason: str


@dataclass
class Source:
    name: str
    root: Path
    """Where images are looked for."""
    images: list[SourceImage] = field(default_factory=list)
    captions: list[SourceCaption] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    by_path: bool = False
    """Names of images are paths from `root`: they are not searched for, and the other files there do not count."""

    def skip(self, kind: str, item: str, where: str, reason: str) -> None:
        self.skipped.append(Skipped(kind, item, where, reason))


def whole_number(value: Any) -> int:
    """An id as sources write it, 7 or "7"; NO_NUMBER for anything else.

    >>> whole_number(7), whole_number("7"), whole_number("seven"), whole_number(None)
    (7, 7, -1, -1)
    """
    text = str(value)
    return int(text) if text.isdecimal() else NO_NUMBER


def read_json_text(path: Path, encoding: str = "utf-8") -> Any:
    """A whole JSON file; broken JSON is a bad file and stops the run."""
    try:
        return json.loads(read_text(path, encoding))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}, column {error.colno}: broken JSON ({error.msg}); mend or replace the file."
        ) from error


def json_lines(path: Path, source: Source, encoding: str = "utf-8") -> Iterator[tuple[str, dict[str, Any]]]:
    """(where, row) of each good line of a JSONL file; broken lines are listed, a file of nothing else stops the run."""
    good = broken = 0
    for number, line in enumerate(read_text(path, encoding).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path.name}, line {number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            row, fault = None, f"broken JSON ({error.msg} at column {error.colno}); mend the line"
        else:
            fault = "" if isinstance(row, dict) else "not a JSON object {…}; write one object a line"
        if fault:
            broken += 1
            source.skip("broken line", line[:60], where, fault)
        else:
            good += 1
            yield where, row
    if broken and not good:
        raise InputError(
            f"{path}: none of its {broken} lines is a JSON object; it is not a JSONL file. {_first(source)}"
        )


def _first(source: Source) -> str:
    last = source.skipped[-1]
    return f"({last.where}: {last.reason}.)"


def entries(
    content: Any, key: str, path: Path, source: Source, fields: Mapping[str, type | tuple[type, ...]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(where, entry) of the list content[key] of a JSON file; entries without these fields are listed.

    A file without the list, or with no whole entry in it, is a bad file and stops the run.
    """
    advice = "this is not the format it was read as, name another with --format."
    if not isinstance(content, dict) or key not in content:
        raise InputError(f"{path}: there is no '{key}'; {advice}")
    if not isinstance(content[key], list):
        raise InputError(f"{path}: '{key}' is not a list; {advice}")
    good = broken = 0
    for index, entry in enumerate(content[key]):
        where = f"{path.name}, {key}[{index}]"
        row = entry if isinstance(entry, dict) else {}
        faulty = [field for field, kind in fields.items() if not isinstance(row.get(field), kind)]
        if faulty:
            broken += 1
            reason = f"there is no '{faulty[0]}', or it is not what it should be; mend the entry"
            source.skip("broken entry", json.dumps(entry)[:60], where, reason)
        else:
            good += 1
            yield where, row
    if broken and not good:
        raise InputError(f"{path}: none of its {broken} '{key}' can be read; {advice} {_first(source)}")
