"""`tellapart export-edits INDEX FILE`: the captions that people wrote, as CSV or JSON lines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.core.errors import InputError
from tellapart.search.edits import StoredEdit, edits_of, write_edits
from tellapart.search.store import open_store


@dataclass(frozen=True)
class ExportEditsOptions:
    """Write the captions that people wrote in an index into a file, which `tellapart import-edits` reads."""

    index: Annotated[str, tyro.conf.Positional]
    """An index that `tellapart index` made."""
    file: Annotated[Path, tyro.conf.Positional]
    """The file to write: .csv or .jsonl."""
    overwrite: bool = False
    """Replace an existing file."""


def export_edits(options: ExportEditsOptions) -> list[StoredEdit]:
    """Write the edits and print how many."""
    if options.file.exists() and not options.overwrite:
        raise InputError(f"{options.file} exists; choose another `file`, or replace it with `overwrite=True`.")
    edits = edits_of(open_store(options.index))
    write_edits(options.file, edits)
    print(f"{options.file}: {len(edits)} captions that people wrote.")
    return edits
