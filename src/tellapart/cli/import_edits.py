"""`tellapart import-edits INDEX FILE`: captions that people wrote, from CSV or JSON lines into an index."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.search.edits import Imported, read_edits
from tellapart.search.edits import import_edits as into_index
from tellapart.search.store import open_store

SHOWN = 10


@dataclass(frozen=True)
class ImportEditsOptions:
    """Store captions from a file in an index. A photo is found by its bytes, or by its path if these have changed."""

    index: Annotated[str, tyro.conf.Positional]
    """An index that `tellapart index` made."""
    file: Annotated[Path, tyro.conf.Positional]
    """A .csv with the columns image and caption, or a .jsonl file; `tellapart export-edits` writes both."""
    replace: bool = False
    """Replace other captions that people wrote in the index. Default: they stay."""


def import_edits(options: ImportEditsOptions) -> Imported:
    """Import the edits and print what became of them."""
    result = into_index(open_store(options.index), read_edits(options.file), replace=options.replace)
    print(
        f"{options.index}: {result.imported} captions imported, {result.unchanged} were there already, "
        f"{len(result.kept)} photos keep another caption, {len(result.unknown)} photos are not in the index."
    )
    for title, paths in (("keeps its caption", result.kept), ("not in the index", result.unknown)):
        for path in paths[:SHOWN]:
            print(f"  {title}: {path}", file=sys.stderr)
        if len(paths) > SHOWN:
            print(f"  {title}: {len(paths) - SHOWN} more", file=sys.stderr)
    return result
