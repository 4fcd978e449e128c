"""Opening and making tables in LanceDB."""

from __future__ import annotations

import contextlib
import datetime
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError, Step
from tellapart.search.lance.lance_store import LanceStore
from tellapart.search.lance.recovery import recover_index
from tellapart.search.lance.saved import Saved, manifests
from tellapart.search.lance.schema import schema
from tellapart.search.location import LANCE_TABLE, is_address
from tellapart.search.table import About
from tellapart.search.table_errors import is_panic

INDEX_CACHE, FILE_CACHE = 1 << 30, 16 << 20
"""Bytes of approximate indexes and of facts about files that LanceDB keeps at most; its defaults are 6 and 1 GB."""
READ_INTERVAL = datetime.timedelta(seconds=2)
"""After this time a reader sees what another process wrote."""


def open_table(where: str) -> LanceStore:
    """An existing index."""
    try:
        if not is_address(where) and not Path(where).is_dir():
            raise FileNotFoundError(where)
        with _explained(where):
            database = _connect(where)
            recover_index(where)
            return LanceStore(where, database.open_table(LANCE_TABLE), database)
    except InputError:
        raise
    except (ValueError, FileNotFoundError) as error:
        step = Step("index", "FOLDER", out=where)
        raise InputError(f"No index at {where}; make one from a folder of photos first.", step) from error


def table_exists(where: str) -> bool:
    """Whether there is an index. A table that was being made when the power failed has no version yet."""
    if not is_address(where):
        is_there = (Path(where) / f"{LANCE_TABLE}.lance").is_dir()
        return is_there and (bool(manifests(Path(where))) or Saved(where).read() is None)
    with _explained(where):
        return LANCE_TABLE in _connect(where).list_tables().tables


def open_or_make_table(where: str, about: About) -> LanceStore:
    """An index to update, created if necessary."""
    with _explained(where):
        database = _connect(where)
        recover_index(where)
        if not table_exists(where):
            Saved(where).begin()
            database.create_table(LANCE_TABLE, schema=schema(about), exist_ok=True)
        store = LanceStore(where, database.open_table(LANCE_TABLE), database)
    store.add_later_columns()
    return store


@contextlib.contextmanager
def _explained(where: str) -> Iterator[None]:
    """Raise an InputError for a place that cannot be reached, read or written; LanceDB has no exception classes."""
    try:
        yield
    except (FileNotFoundError, InputError):
        raise
    except BaseException as error:
        if not isinstance(error, OSError | RuntimeError) and not is_panic(error):
            raise
        reason = getattr(error, "strerror", None) or str(error).split(", /")[0]
        raise InputError(f"No index can be at {where} ({reason}); fix that or choose another path.") from error


def _connect(where: str) -> Any:
    try:
        lancedb = importlib.import_module("lancedb")
    except ImportError as error:
        what = "An index on object storage" if is_address(where) else f"The index {where} of an earlier version"
        raise InputError(f"{what} needs LanceDB; run `pip install 'tellapart[lance]'`.") from error
    session = lancedb.Session(index_cache_size_bytes=INDEX_CACHE, metadata_cache_size_bytes=FILE_CACHE)
    try:
        return lancedb.connect(where, read_consistency_interval=READ_INTERVAL, session=session)
    except ValueError as error:  # storage that does not answer; a table that is not there is found out later
        raise InputError(f"No index can be at {where} ({_reason(str(error))}); fix that or choose another.") from error


def _reason(text: str) -> str:
    """The last message in what LanceDB says of an error, or its beginning.

    >>> _reason('IO { inner: Connect { code: 111, message: "Connection reset" } }')
    'Connection reset'
    """
    messages = re.findall(r'message: "([^"]+)"', text)
    return str(messages[-1]) if messages else text[:200]
