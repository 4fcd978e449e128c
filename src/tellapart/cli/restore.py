"""`tellapart restore FILE --out INDEX`: an index from a backup."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.search.backup import Backup
from tellapart.search.backup import restore as restored


@dataclass(frozen=True)
class RestoreOptions:
    """Write the index of a backup into a new folder. Every byte is checked."""

    backup: Annotated[Path, tyro.conf.Positional]
    """A file that `tellapart backup` wrote."""
    out: Path
    """The index to write: a folder that does not exist."""


def restore(options: RestoreOptions) -> Backup:
    """Restore the index and print what it holds."""
    found = restored(options.backup, options.out)
    print(f"{options.out}: {found.photos} photos, {found.edits} captions that people wrote, from {found.created}.")
    return found
