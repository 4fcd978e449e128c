"""Opening and making indexes: SQLite in a folder, LanceDB at an address and for indexes of earlier versions."""

from __future__ import annotations

from pathlib import Path

from tellapart.core.errors import InputError, Step
from tellapart.search.location import has_database, is_address, is_lance
from tellapart.search.protocol import Store, check_matcher
from tellapart.search.sqlite.making import database_exists, make_database, open_database
from tellapart.search.table import About


def store_exists(where: str) -> bool:
    """Whether there is an index. One that was being made when the power failed is none yet."""
    if is_lance(where):
        from tellapart.search.lance.opening import table_exists

        return table_exists(where)
    return has_database(where) and database_exists(where)


def open_store(where: str) -> Store:
    """An existing index."""
    if is_lance(where):
        from tellapart.search.lance.opening import open_table

        return open_table(where)
    if not is_address(where) and not (Path(where).is_dir() and store_exists(where)):
        step = Step("index", "FOLDER", out=where)
        raise InputError(f"No index at {where}; make one from a folder of photos first.", step)
    return open_database(where)


def open_or_make(where: str, about: About) -> Store:
    """An index to update, created if necessary; InputError if another matcher made it."""
    store: Store
    if is_lance(where):
        from tellapart.search.lance.opening import open_or_make_table

        store = open_or_make_table(where, about)
    else:
        store = make_database(where, about)
    check_matcher(store, about.fingerprint, about.matcher)
    return store
