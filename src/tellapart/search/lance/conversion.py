"""An index that an earlier version made with LanceDB, moved into SQLite: vectors, captions, edits and their history."""

from __future__ import annotations

import datetime
import itertools
import os
import shutil
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.files import flush_folder
from tellapart.search.lance.lance_store import LanceStore
from tellapart.search.lance.opening import open_table
from tellapart.search.lance.recovery import SET_ASIDE
from tellapart.search.lance.saved import LOCK, SAVED, table_names
from tellapart.search.location import DATABASE, LANCE_TABLE, has_database, is_address
from tellapart.search.sqlite import writing
from tellapart.search.sqlite.making import make_database
from tellapart.search.table import FACTS
from tellapart.search.update import only_writer

ATTEMPTS = 5
ROWS = 1_000
SCRATCH = ".converting"


def convert(where: str) -> int:
    """Move an index in a folder from LanceDB into SQLite, and remove the old tables; the number of photos.

    The new database takes its name when it is whole, so that a kill leaves one of the two. Captions that people edit
    meanwhile are moved, too; a server that has opened the old tables must be restarted. 0: nothing to do.
    """
    folder = Path(where)
    if is_address(where) or not (folder / f"{LANCE_TABLE}.lance").is_dir():
        return 0
    if has_database(where):  # a kill came before the old tables were removed
        _remove_tables(folder)
        return 0
    with only_writer(where):
        store = open_table(where)
        for _ in range(ATTEMPTS):
            version, scratch = store.version, folder / SCRATCH
            shutil.rmtree(scratch, ignore_errors=True)
            photos = _copy(store, scratch)
            store.table.checkout_latest()
            if store.version == version:
                os.replace(scratch / DATABASE, folder / DATABASE)
                flush_folder(folder)
                shutil.rmtree(scratch, ignore_errors=True)
                _remove_tables(folder)
                return photos
    raise InputError(f"Others keep writing the index {where}; try again.")


def _copy(store: LanceStore, folder: Path) -> int:
    made = make_database(str(folder), store.about)
    rows = store.rows([*FACTS, "vector"])
    while some := list(itertools.islice(rows, ROWS)):
        made.write(some, [], {})
    with made.connections.writing() as connection:
        for edit in sorted(store.edits.all(), key=lambda edit: edit["saved"]):
            saved = edit["saved"].replace(tzinfo=datetime.UTC)
            writing.remember(connection, edit["content"], edit["path"], edit["caption"], saved)
    photos = len(made)
    made.close()
    return photos


def _remove_tables(folder: Path) -> None:
    for name in table_names(folder):
        shutil.rmtree(folder / f"{name}.lance", ignore_errors=True)
    shutil.rmtree(folder / SET_ASIDE, ignore_errors=True)
    for name in (SAVED, LOCK):
        (folder / name).unlink(missing_ok=True)
