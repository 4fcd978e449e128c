"""An index as one file: its database with a checksum, and the captions that people wrote as text.

The file is a zip archive without compression, since vectors do not compress: any program can open it.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import tempfile
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tellapart.core.checksums import Sum, checksum
from tellapart.core.errors import InputError, Step
from tellapart.core.files import atomic_folder, atomic_path
from tellapart.core.json_text import BrokenJson, parse_json
from tellapart.search.edits import edits_of
from tellapart.search.location import DATABASE, is_lance
from tellapart.search.sqlite.copying import copy_database
from tellapart.search.store import open_store

MANIFEST, EDITS = "backup.json", "edits.jsonl"
FORM = 1
BLOCK = 1 << 20
LARGEST_MANIFEST = 1 << 28


@dataclass(frozen=True)
class Backup:
    """What a backup holds."""

    photos: int
    edits: int
    bytes: int
    created: str
    """In UTC."""


def back_up(where: str, out: Path) -> Backup:
    """Write an index into one file, atomically. It may be searched, edited and updated meanwhile."""
    if "://" in where:
        raise InputError(f"{where} is not a folder: only an index on a disk is backed up. Export its edits instead.")
    if is_lance(where):
        raise InputError(f"{where} is an index of an earlier version; update it once, then back it up.",
                         Step("index", "FOLDER", out=where))  # fmt: skip
    open_store(where)  # raises if there is none
    with atomic_path(out) as partial, tempfile.TemporaryDirectory(dir=partial.parent, prefix=".backup-") as scratch:
        copy_database(where, Path(scratch))
        return _write(scratch, partial)


def _write(folder: str, partial: Path) -> Backup:
    """Write a copy of an index, which nobody changes, into an archive."""
    store = open_store(folder)
    edits, photos = edits_of(store), len(store)
    store.close()  # before its file is read in another way
    lines = "".join(json.dumps(asdict(edit), ensure_ascii=False) + "\n" for edit in edits)
    file = Path(folder) / DATABASE
    files = {DATABASE: checksum(file)}
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.write(file, f"index/{DATABASE}")
        archive.writestr(EDITS, lines)
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        found = Backup(photos, len(edits), files[DATABASE][0], now)
        archive.writestr(MANIFEST, json.dumps({"form": FORM, **asdict(found), "files": files}, indent=1))
    return found


def restore(backup: Path, out: Path) -> Backup:
    """Write the index of a backup into a new folder, atomically; InputError if a byte of it is damaged."""
    if out.exists():
        raise InputError(f"{out} exists; choose another `out`, or move it away first.")
    try:
        with zipfile.ZipFile(backup) as archive:
            facts = _manifest(backup, archive)
            with atomic_folder(out) as partial:
                for name, stored in facts["files"].items():
                    _extract(backup, archive, name, stored, partial)
    except FileNotFoundError as error:
        raise InputError(f"{backup} does not exist; give a file that a backup wrote.") from error
    except (zipfile.BadZipFile, KeyError, NotImplementedError, EOFError) as error:
        raise InputError(f"{backup} is not a whole backup ({error}); copy it again.") from error
    return Backup(**{name: facts[name] for name in Backup.__dataclass_fields__})


def _manifest(backup: Path, archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        if archive.getinfo(MANIFEST).file_size > LARGEST_MANIFEST:
            raise BrokenJson("it is too large", 1)
        facts = parse_json(archive.read(MANIFEST).decode("utf-8"))
        files = {str(name): (int(size), str(digest)) for name, (size, digest) in facts["files"].items()}
    except (BrokenJson, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{backup} is not a backup of an index ({error}); give a file that a backup wrote.") from error
    if facts.get("form") != FORM:
        raise InputError(f"{backup} was written by a later version; restore it with that one.")
    return {**facts, "files": files}


def _extract(backup: Path, archive: zipfile.ZipFile, name: str, stored: Sum, folder: Path) -> None:
    """Write one file, whose name must stay inside the folder, and check its bytes."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or any(part in ("..", ".") or "\\" in part or ":" in part for part in parts):
        raise InputError(f"{backup} names a file outside of the index ({name}); it is not a backup.")
    path = folder.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.blake2b(digest_size=16), 0
    with archive.open(f"index/{name}") as source, path.open("wb") as target:
        while block := source.read(BLOCK):
            size += len(block)
            if size > stored[0]:
                break
            digest.update(block)
            target.write(block)
    if (size, digest.hexdigest()) != tuple(stored):
        raise InputError(f"{backup} is damaged: {name} has other bytes than were backed up; copy it again.")
