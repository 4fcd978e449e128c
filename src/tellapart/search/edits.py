"""The captions that people wrote, as rows that leave an index and enter another one.

A row finds its photo by the hash of its bytes; by its path, if the bytes have changed since; or by its path inside the
indexed folder, if that has moved or the path is relative, and one photo alone is there.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_path
from tellapart.core.json_text import BrokenJson, parse_json
from tellapart.core.text_files import read_text
from tellapart.images.remote import is_address
from tellapart.search.protocol import Store

COLUMNS = ("image", "caption", "folder", "content")
SUFFIXES = (".csv", ".jsonl")


@dataclass(frozen=True)
class StoredEdit:
    """A caption that a person wrote, and the photo it belongs to."""

    image: str
    """Path of the photo."""
    caption: str
    folder: str = ""
    """The indexed folder around it."""
    content: str = ""
    """Hash of its bytes."""


@dataclass
class Imported:
    """What an import did."""

    imported: int = 0
    unchanged: int = 0
    """Photos that had the caption already."""
    kept: list[str] = field(default_factory=list)
    """Photos that keep another caption, which a person wrote in this index."""
    unknown: list[str] = field(default_factory=list)
    """Photos that the index does not hold."""


def edits_of(store: Store) -> list[StoredEdit]:
    """All captions that people wrote in an index, by path."""
    rows = store.rows(["path", "folder", "content", "edited"], edited=True)
    edits = (StoredEdit(row["path"], row["edited"], row["folder"], row["content"]) for row in rows)
    return sorted(edits, key=lambda edit: edit.image)


def write_edits(path: Path, edits: Sequence[StoredEdit]) -> None:
    """Write edits as CSV or JSON lines, by the suffix of the file."""
    _check_suffix(path)
    with atomic_path(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        if path.suffix.lower() == ".csv":
            rows = csv.DictWriter(file, COLUMNS)
            rows.writeheader()
            rows.writerows(asdict(edit) for edit in edits)
        else:
            file.writelines(json.dumps(asdict(edit), ensure_ascii=False) + "\n" for edit in edits)


def read_edits(path: Path) -> list[StoredEdit]:
    """The edits of a CSV file or of JSON lines; InputError for a line without image and caption."""
    _check_suffix(path)
    text = read_text(path)
    numbered: Iterable[tuple[int, Any]]
    if path.suffix.lower() == ".csv":
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        try:
            numbered = [(reader.line_num, row) for row in reader]
        except csv.Error as error:
            raise InputError(f"{path}, line {reader.line_num}: broken CSV ({error}); fix it.") from error
    else:
        numbered = [(n, _parsed(path, n, line)) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    return [edit for number, row in numbered if (edit := _edit(path, number, row)) is not None]


def import_edits(store: Store, edits: Sequence[StoredEdit], *, replace: bool = False) -> Imported:
    """Store edits in an index. Captions that people wrote in it stay, unless `replace` is set."""
    result, new = Imported(), dict[str, str]()
    by_content, by_path, by_place = _grouped(store.rows(["path", "folder", "content", "edited"]))
    for edit in edits:
        found = by_content.get(edit.content) or by_path.get(_full_path(edit.image)) or []
        if not found and (edit.folder or _is_relative(edit.image)):
            inside = by_place.get(_place(edit.image, edit.folder), [])
            found = inside if len(inside) == 1 else []
        if not found:
            result.unknown.append(edit.image)
        for row in found:
            if row["edited"] == edit.caption:
                result.unchanged += 1
            elif row["edited"] and not replace:
                result.kept.append(row["path"])
            else:
                new[row["path"]] = edit.caption
    store.edit_all(new)
    result.imported = len(new)
    return result


Rows = dict[str, list[dict[str, Any]]]


def _grouped(rows: Iterable[dict[str, Any]]) -> tuple[Rows, Rows, Rows]:
    """The rows of an index by content, by path, and by path inside the indexed folder."""
    by_content, by_path, by_place = Rows(), Rows(), Rows()
    for row in rows:
        by_content.setdefault(row["content"], []).append(row)
        by_path[row["path"]] = [row]
        by_place.setdefault(_place(row["path"], row["folder"]), []).append(row)
    by_content.pop("", None)
    return by_content, by_path, by_place


def _full_path(path: str) -> str:
    return path if is_address(path) else os.path.abspath(path)


def _is_relative(path: str) -> bool:
    return not (is_address(path) or os.path.isabs(path))


def _place(path: str, folder: str) -> str:
    inside = Path(path).is_relative_to(folder)
    return Path(path).relative_to(folder).as_posix() if inside else os.path.basename(path)


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path} must end in .csv or .jsonl, which says how edits are written.")


def _parsed(path: Path, number: int, line: str) -> Any:
    try:
        return parse_json(line)
    except BrokenJson as error:
        raise InputError(f"{path}, line {number}: broken JSON ({error}); fix or remove the line.") from error


def _edit(path: Path, number: int, row: Any) -> StoredEdit | None:
    """The edit of a line; None for a line without a caption, which is no edit."""
    if not isinstance(row, dict) or not isinstance(row.get("image"), str) or "caption" not in row:
        raise InputError(f"{path}, line {number}: no image and caption; give these columns.")
    values = {name: str(row.get(name) or "") for name in COLUMNS}
    caption = " ".join(values["caption"].split())
    return StoredEdit(**{**values, "caption": caption}) if caption else None
