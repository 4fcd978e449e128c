"""`tellapart backup INDEX --out FILE`: a whole index in one file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.core.errors import InputError
from tellapart.search.backup import Backup, back_up


@dataclass(frozen=True)
class BackupOptions:
    """Write an index into one file: vectors, captions, edits and their history. Photos are not part of it."""

    index: Annotated[str, tyro.conf.Positional]
    """An index that `tellapart index` made."""
    out: Path
    """The file to write, a zip archive."""
    overwrite: bool = False
    """Replace an existing file."""


def backup(options: BackupOptions) -> Backup:
    """Write the backup and print what it holds."""
    if options.out.exists() and not options.overwrite:
        raise InputError(f"{options.out} exists; choose another `out`, or replace it with `overwrite=True`.")
    found = back_up(options.index, options.out)
    print(f"{options.out}: {found.photos} photos, {found.edits} captions that people wrote, {found.bytes:,} bytes.")
    return found
