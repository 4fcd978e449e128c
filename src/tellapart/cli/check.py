"""`tellapart check PATH…`: are packs, features, runs and indexes as they were saved?"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated

import tyro

from tellapart.core.errors import InputError
from tellapart.core.findings import Findings
from tellapart.search.check_path import check_path

ROWS = {"pack": "images", "features": "images", "run": "", "index": "photos"}


@dataclass(frozen=True)
class CheckOptions:
    """Compare packs, features, runs and indexes with their checksums, and their rows with their files."""

    paths: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    """Packs, folders of features, runs and indexes."""
    repair: bool = False
    """Restore what can be restored from other files, and write checksums where there are none."""
    json: bool = False
    """Print JSON instead of sentences."""


def check(options: CheckOptions) -> list[Findings]:
    """Check every path and print what was found; an Error at the end if anything is damaged."""
    if not options.paths:
        raise InputError("Give at least one pack, folder of features, run or index.")
    found = [check_path(path, options.repair) for path in options.paths]
    if options.json:
        print(json.dumps([asdict(one) | {"damaged": one.damaged} for one in found], indent=2))
    else:
        for one in found:
            _print(one)
    damaged = [one.path for one in found if one.damaged]
    if damaged:
        raise InputError(f"Damaged: {', '.join(damaged)}.")
    return found


def _print(found: Findings) -> None:
    rows = f", {found.rows:,} {ROWS[found.kind]}" if ROWS[found.kind] and found.rows else ""
    state = "damaged" if found.damaged else "whole"
    print(f"{found.path}: {state}. A {found.kind} with {found.files:,} verified files{rows}.")
    for problem in found.problems:
        print(f"  {'repaired' if problem.repaired else 'damaged'}: {problem.what}")
    for note in found.notes:
        print(f"  note: {note}")
