"""Where an index is, and what keeps it: SQLite in a folder, LanceDB elsewhere and before."""

from __future__ import annotations

from pathlib import Path

DATABASE = "photos.sqlite"
LANCE_TABLE = "pictures"


def is_address(where: str) -> bool:
    """Whether an index is on object storage."""
    return "://" in where


def has_database(where: str) -> bool:
    """Whether a folder has a database of photos."""
    return not is_address(where) and (Path(where) / DATABASE).is_file()


def is_lance(where: str) -> bool:
    """Whether LanceDB keeps an index: at an address, or in a folder of an earlier version."""
    return is_address(where) or (not has_database(where) and (Path(where) / f"{LANCE_TABLE}.lance").is_dir())


def is_index(where: str) -> bool:
    """Whether there is an index; at an address, whether there may be one."""
    return has_database(where) or is_lance(where)


def is_old(where: str) -> bool:
    """Whether a folder has tables of LanceDB, which the next update moves into a database."""
    return not is_address(where) and (Path(where) / f"{LANCE_TABLE}.lance").is_dir()
