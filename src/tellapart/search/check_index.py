"""Checking an index: its files or its database, every row, and the rows against the photos."""

from __future__ import annotations

import os
import re

import numpy as np

from tellapart.core.errors import Error
from tellapart.core.findings import Findings
from tellapart.images.remote import is_address
from tellapart.search.location import is_lance
from tellapart.search.protocol import Store
from tellapart.search.store import open_store

ADVICE = (
    "copy the index again from where it is whole, or update it with `verify=True`, which encodes every photo again and "
    "keeps edited captions"
)
LENGTH_ERROR = 0.02
"""How far the length of a stored vector may be from one: float16 rounds."""


def check_index(where: str, repair: bool = False) -> Findings:
    """Check an index. Opening it undoes changes that a power failure cut short."""
    found = Findings(where, "index")
    try:
        if is_lance(where):
            from tellapart.search.lance.checking import check_files

            check_files(where, found, repair)
        else:
            from tellapart.search.sqlite.checking import check_database

            check_database(where, found, repair)
        check_rows(open_store(where), found)
    except Error as error:
        if not found.damaged:
            found.problem(str(error))
    except Exception as error:
        found.problem(f"{where} cannot be read ({type(error).__name__}: {str(error)[:160]}); {ADVICE}.")
    return found


def check_rows(store: Store, found: Findings) -> None:
    """Compare every row with what a row must be, and with its file."""
    seen: set[str] = set()
    doubled = wrong = gone = changed = 0
    for row in store.rows(["path", "content", "size", "modified", "vector"]):
        wrong += not abs(float(np.linalg.norm(row["vector"])) - 1) < LENGTH_ERROR
        doubled += row["path"] in seen
        seen.add(row["path"])
        wrong += re.fullmatch("[0-9a-f]{32}", row["content"] or "") is None
        if is_address(row["path"]):  # fetching its facts would take a request per photo
            continue
        try:
            facts = os.stat(row["path"])
            changed += (facts.st_size, facts.st_mtime_ns) != (row["size"], row["modified"])
        except (OSError, ValueError):
            gone += 1
    found.rows = len(seen)
    if doubled:
        found.problem(f"{store.where} is damaged: {doubled} photos have two rows; make it again.")
    if wrong:
        found.problem(f"{store.where} is damaged: {wrong} rows have a vector or hash that cannot be; {ADVICE}.")
    if gone or changed:
        found.notes.append(f"{gone} photos are gone and {changed} have changed since they were indexed; index again.")
