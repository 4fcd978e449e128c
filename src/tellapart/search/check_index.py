"""Checking an index: checksums of its files, every row, and the rows against the photos."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from tellapart.core.checksums import checksum
from tellapart.core.errors import Error
from tellapart.core.findings import Findings
from tellapart.search.ann import as_matrix
from tellapart.search.recovery import read_all
from tellapart.search.saved import Saved, needed, table_files, table_names
from tellapart.search.store import Store, open_store

ADVICE = (
    "copy the index again from where it is whole, or update it with `verify=True`, which encodes every photo again and "
    "keeps edited captions"
)
LENGTH_ERROR = 0.02
"""How far the length of a stored vector may be from one: float16 rounds."""


def check_index(where: str, repair: bool = False) -> Findings:
    """Check an index. Opening it undoes changes that a power failure cut short."""
    found = Findings(where, "index")
    _check_files(where, found)
    try:
        store = open_store(where)
        for name in table_names(Path(where)) if "://" not in where else ():
            read_all(store.history.database.open_table(name))
        _check_rows(store, found)
    except Error as error:
        if not found.damaged:
            found.problem(str(error))
        return found
    except Exception as error:
        found.problem(f"{where} cannot be read ({type(error).__name__}: {str(error)[:160]}); {ADVICE}.")
        return found
    if repair and not found.damaged:
        store.sync()
    return found


def _check_files(where: str, found: Findings) -> None:
    saved = Saved(where)
    try:
        record = saved.read()
    except Error as error:
        found.problem(str(error))
        return
    if saved.folder is None or record is None:
        found.notes.append(f"{where} has no checksums: an earlier version wrote it, or it is on object storage.")
        return
    for path in table_files(saved.folder):
        name = path.relative_to(saved.folder).as_posix()
        if name not in record.files:
            found.notes.append(f"{path} has no checksum: it was not reported as saved.")
        elif checksum(path) == record.files[name]:
            found.files += 1
        elif needed(saved.folder, path):
            found.problem(f"{path} is damaged: its bytes are not those that were saved; {ADVICE}.")
        else:
            found.notes.append(f"{path} is damaged, but only a former version of the index needs it.")


def _check_rows(store: Store, found: Findings) -> None:
    seen: set[str] = set()
    doubled = wrong = gone = changed = 0
    for batch in store.batches(["path", "content", "size", "modified", "vector"]):
        lengths = np.linalg.norm(as_matrix(batch["vector"], store.about.width), axis=1)
        wrong += int((~(np.abs(lengths - 1) < LENGTH_ERROR)).sum())
        for row in batch.select(["path", "content", "size", "modified"]).to_pylist():
            doubled += row["path"] in seen
            seen.add(row["path"])
            wrong += re.fullmatch("[0-9a-f]{32}", row["content"]) is None
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
