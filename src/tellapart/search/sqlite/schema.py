"""The tables of an index in SQLite.

photos    one row per photo                   vectors   float16 vectors, apart: facts are read without them
edits     what people wrote, and when         state     one row: the models, counters of changes, when it changed last
words     full text of the captions           sum       of a row's values, which `check` compares: SQLite has none
"""

from __future__ import annotations

import sqlite3
import zlib
from typing import Any

from tellapart.search.table import CAPTIONS, FACTS

APPLICATION = 0x54656C6C
"""Written into the header of the database: "Tell"."""
FORM = 1
"""Raised when an older version cannot read what a newer one writes."""
PAGE = 8192

_KINDS = {
    "path": "TEXT NOT NULL UNIQUE",
    "size": "INTEGER",
    "modified": "INTEGER",
    "width": "INTEGER",
    "height": "INTEGER",
    "confidence": "REAL",
    "sure": "INTEGER",
    "latitude": "REAL",
    "longitude": "REAL",
}
_COLUMNS = ", ".join(f"{name} {_KINDS.get(name, 'TEXT')}" for name in FACTS)
_TEXTS = ", ".join(CAPTIONS)
_OLD = ", ".join(f"old.{name}" for name in CAPTIONS)
_NEW = ", ".join(f"new.{name}" for name in CAPTIONS)
_FORGET = f"INSERT INTO words(words, rowid, {_TEXTS}) VALUES ('delete', old.id, {_OLD});"
_LEARN = f"INSERT INTO words(rowid, {_TEXTS}) VALUES (new.id, {_NEW});"
TABLES = (
    f"CREATE TABLE photos (id INTEGER PRIMARY KEY AUTOINCREMENT, {_COLUMNS}, sum INTEGER)",
    "CREATE INDEX photos_content ON photos (content)",
    "CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    "CREATE TABLE edits (id INTEGER PRIMARY KEY, content TEXT, path TEXT, caption TEXT, saved TEXT, sum INTEGER)",
    "CREATE INDEX edits_content ON edits (content)",
    "CREATE INDEX edits_path ON edits (path)",
    "CREATE TABLE state (id INTEGER PRIMARY KEY, about TEXT, version INTEGER, photos INTEGER, changed TEXT, "
    "sum INTEGER)",
    f"CREATE VIRTUAL TABLE words USING fts5 ({_TEXTS}, content='photos', content_rowid='id', "
    "tokenize='porter unicode61 remove_diacritics 2')",
    f"CREATE TRIGGER photo_added AFTER INSERT ON photos BEGIN {_LEARN} END",
    f"CREATE TRIGGER photo_deleted AFTER DELETE ON photos BEGIN {_FORGET} END",
    f"CREATE TRIGGER photo_captioned AFTER UPDATE OF {_TEXTS} ON photos BEGIN {_FORGET} {_LEARN} END",
)
SUMMED = ", ".join((*FACTS, "(SELECT vector FROM vectors WHERE vectors.id = photos.id)"))
"""What the sum of a photo is made of, as SQL."""


def row_sum(*values: Any) -> int:
    """A checksum of stored values: it differs after any flipped bit."""
    plain = [zlib.crc32(value) if isinstance(value, bytes) else value for value in values]
    return zlib.crc32(repr(plain).encode("utf-8", "surrogatepass"))


def has_full_text(connection: sqlite3.Connection) -> bool:
    """Whether this SQLite has full-text search."""
    return any(option == "ENABLE_FTS5" for (option,) in connection.execute("PRAGMA compile_options"))
