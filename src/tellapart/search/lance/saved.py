"""What of an index is on the disk for certain: the last version whose files were flushed, and their checksums.

LanceDB flushes nothing. It writes the files of a change, then a manifest that names them, under new names: after a
power failure the manifest may be there and the files not. So every change is followed by `Saved.sync`, which flushes
the new files and folders and then writes `saved.json`. Whatever is newer than the version in it may be damaged after a
power failure (`search/recovery.py`); it was not reported as saved.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tellapart.core.checksums import Sum, checksum
from tellapart.core.errors import InputError
from tellapart.core.file_lock import lock
from tellapart.core.files import flush, flush_folder, make_folder, read_json, write_json
from tellapart.search.location import LANCE_TABLE as TABLE

SAVED, LOCK = "saved.json", ".saved.lock"
UNNEEDED = "_transactions"
"""LanceDB reads an index without these files."""
MARGIN = 5.0
"""Seconds by which clocks may differ."""
LAST_VERSION = 2**64 - 1
"""A manifest is named by this minus its version."""


@dataclass(frozen=True)
class Record:
    """What `saved.json` says."""

    versions: dict[str, int]
    """The last saved version of each table; none for a table of which nothing is saved."""
    files: dict[str, Sum]
    """Checksums of the files of all tables."""


class Saved:
    """The record of an index in a folder, or of none on object storage, which flushes by itself."""

    def __init__(self, where: str) -> None:
        self.folder = None if "://" in where else Path(where)

    def begin(self) -> None:
        """Before a table is made: whatever is found of it without a later `sync` may be removed."""
        if self.folder is not None:
            make_folder(self.folder)
            if not (self.folder / SAVED).is_file():
                self._write(Record({}, {}))

    def sync(self) -> None:
        """Flush every file of the tables, and note their newest versions as saved."""
        if self.folder is None:
            return
        with self._alone():
            before = self.read() or Record({}, {})
            versions = {name: max(manifests(self.folder, name), default=0) for name in table_names(self.folder)}
            now = {path.relative_to(self.folder).as_posix(): path for path in table_files(self.folder)}
            added = {name: one for name, path in now.items() if name not in before.files and (one := _flushed(path))}
            folders = {(self.folder / name).parent for name in added}
            for folder in folders | {inner.parent for inner in folders} | {inner.parent.parent for inner in folders}:
                if folder != self.folder.parent:
                    flush_folder(folder)
            after = Record(versions, {name: one for name, one in before.files.items() if name in now} | added)
            if after != before:
                self._write(after)

    def age(self, table: str) -> datetime.timedelta:
        """At least the time since the saved version of a table was written; it must not be deleted."""
        record = self.read()
        if self.folder is None or record is None:
            return datetime.timedelta(0)
        manifest = manifests(self.folder, table).get(record.versions.get(table, 0))
        try:
            written = time.time() if manifest is None else manifest.stat().st_mtime
        except FileNotFoundError:
            written = time.time()
        return datetime.timedelta(seconds=max(0.0, time.time() - written) + MARGIN)

    def read(self) -> Record | None:
        """The record; None for an index of an earlier version."""
        if self.folder is None or not (self.folder / SAVED).is_file():
            return None
        path = self.folder / SAVED
        try:
            stored = read_json(path)
            files = {str(name): (int(size), str(digest)) for name, (size, digest) in stored["files"].items()}
            return Record({str(name): int(version) for name, version in stored["versions"].items()}, files)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} is damaged: it does not say what is saved. Remove it to use the index, then check it."
            ) from error

    def _write(self, record: Record) -> None:
        assert self.folder is not None
        write_json(self.folder / SAVED, {"versions": record.versions, "files": dict(sorted(record.files.items()))})

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        assert self.folder is not None
        with (self.folder / LOCK).open("w") as guard:
            lock(guard, wait=True)
            yield


def table_files(folder: Path) -> Iterator[Path]:
    """The files of an index that count: not those that LanceDB is still writing, nor those that it can do without."""
    for table in table_names(folder):
        for parent, folders, names in os.walk(folder / f"{table}.lance"):
            folders[:] = [name for name in folders if name != UNNEEDED]
            for name in names:
                if not name.startswith(".") and "#" not in name and name != "latest_version_hint.json":
                    yield Path(parent) / name


def table_names(folder: Path) -> list[str]:
    """The tables of an index: photos, and what else is kept beside them."""
    return sorted(path.stem for path in folder.glob("*.lance") if path.is_dir())


def manifests(folder: Path, table: str = TABLE) -> dict[int, Path]:
    """The versions of a table that LanceDB can open, newest first, with their manifests."""
    found: dict[int, Path] = {}
    for path in (folder / f"{table}.lance" / "_versions").glob("*.manifest"):
        if path.stem.isdecimal():
            number = int(path.stem)
            found[LAST_VERSION - number if len(path.stem) == 20 else number] = path
    return dict(sorted(found.items(), reverse=True))


def needed(folder: Path, path: Path) -> bool:
    """Whether the newest version of its table needs a file; where that is not known, it does."""
    table = path.relative_to(folder).parts[0].removesuffix(".lance")
    newest = max(manifests(folder, table).items(), default=(0, path))[1]
    if path.suffix == ".manifest":
        return path == newest
    content = newest.read_bytes()
    if path.parent.name == "data":
        return path.name.encode() in content
    if "_indices" in path.parts:
        try:
            return uuid.UUID(path.relative_to(folder).parts[2]).bytes in content
        except ValueError:
            return True
    return True


def _flushed(path: Path) -> Sum | None:
    """Write a file to the disk; its checksum, or None if it is gone already."""
    try:
        flush(path)
        return checksum(path)
    except FileNotFoundError:
        return None
