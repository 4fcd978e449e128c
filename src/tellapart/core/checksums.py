"""Sizes and hashes of the files of a folder, written when they are saved, in `checksums.json` beside them.

A folder inside with its own `checksums.json` is left to that one. A file is taken off the list before it is replaced
and put back afterwards, so that a kill in between leaves a file without a checksum, never a wrong one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.files import read_json, write_json

CHECKSUMS = "checksums.json"
TEXT = (".json", ".jsonl")
Sum = tuple[int, str]
"""Bytes, and their hash."""


@dataclass
class Compared:
    """The files of a folder against their checksums; names are relative to it."""

    whole: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)
    """Files without a checksum."""


def checksum(path: Path) -> Sum:
    """Size and hash of a file."""
    digest = hashlib.blake2b(digest_size=16)
    size = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
            size += len(block)
    return size, digest.hexdigest()


def listed_files(folder: Path) -> Iterator[Path]:
    """The files that a list of checksums covers: no hidden ones, none of a folder with its own list."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = Path(entry.path)
        if entry.name.startswith(".") or entry.name == CHECKSUMS:
            continue
        if entry.is_dir():
            if not (path / CHECKSUMS).is_file():
                yield from listed_files(path)
        elif entry.is_file():
            yield path


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files of a folder."""
    sums = {path.relative_to(folder).as_posix(): checksum(path) for path in listed_files(folder)}
    write_json(folder / CHECKSUMS, sums)


def read_checksums(folder: Path) -> dict[str, Sum] | None:
    """The checksums of a folder; None if an earlier version wrote it, which stored none."""
    path = folder / CHECKSUMS
    if not path.is_file():
        return None
    try:
        return {str(name): (int(size), str(digest)) for name, (size, digest) in read_json(path).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is damaged: it does not list checksums. Remove it to use the folder.") from error


def forget_checksums(folder: Path, *names: str) -> None:
    """Take files off the list before they are replaced."""
    sums = read_checksums(folder)
    if sums and any(name in sums for name in names):
        write_json(folder / CHECKSUMS, {name: one for name, one in sums.items() if name not in names})


def add_checksums(folder: Path, *names: str) -> None:
    """Put files on the list after they were replaced, if the folder has a list."""
    sums = read_checksums(folder)
    if sums is not None:
        write_json(folder / CHECKSUMS, {**sums, **{name: checksum(folder / name) for name in names}})


def check_sizes(folder: Path, advice: str) -> None:
    """Raise an InputError if a file has another size than when it was saved; contents are not read.

    Text may be edited by hand, and a damaged one is noticed when it is read.
    """
    for name, (size, _) in (read_checksums(folder) or {}).items():
        if name.endswith(TEXT):
            continue
        try:
            found = (folder / name).stat().st_size
        except OSError:  # whoever needs the file says that it is missing
            continue
        if found != size:
            raise InputError(
                f"{folder / name} is damaged: it has {found:,} bytes, not {size:,}; {advice}. If you changed it "
                f"yourself, remove {folder / CHECKSUMS}."
            )


def compare(folder: Path) -> Compared:
    """Read every file of a folder and compare it with its checksum."""
    sums, found = read_checksums(folder) or {}, Compared()
    there = [path.relative_to(folder).as_posix() for path in listed_files(folder)]
    found.missing = sorted(set(sums) - set(there))
    for name in there:
        if name not in sums:
            found.unlisted.append(name)
        elif checksum(folder / name) == sums[name]:
            found.whole.append(name)
        else:
            found.damaged.append(name)
    return found
