"""Joining the small pieces of a table and deleting its old versions, so that a power failure loses nothing."""

from __future__ import annotations

import datetime
from typing import Any

from tellapart.search.lance.saved import Saved

KEEP_VERSIONS = datetime.timedelta(hours=1)
"""Others may still read a version that is not older."""
FOREVER = datetime.timedelta(days=36500)


def compact_table(table: Any, saved: Saved, name: str, keep: datetime.timedelta = KEEP_VERSIONS) -> None:
    """Join pieces, add new rows to an approximate index, and delete versions older than `keep`.

    Nothing is deleted before what replaces it is on the disk.
    """
    table.checkout_latest()
    table.optimize(cleanup_older_than=FOREVER)
    saved.sync()
    table.optimize(cleanup_older_than=max(keep, saved.age(name)))
    saved.sync()
