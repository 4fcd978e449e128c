"""What an update did to an index."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Changes:
    """Numbers of photos that an update found unchanged, added, changed and deleted."""

    unchanged: int = 0
    added: int = 0
    changed: int = 0
    carried: int = 0
    """Moved, copied or touched: files whose bytes are known, and which are not encoded again."""
    deleted: int = 0
    repaired: int = 0
    """Rows whose vector was not that of their file, found by `verify`."""
    completed: int = 0
    """Unchanged photos whose rows an earlier version wrote: camera, place and description were added to them."""
    converted: int = 0
    """Photos of an index of an earlier version, which was moved from LanceDB into SQLite first."""
    missing_extras: dict[str, int] = field(default_factory=dict)
    """Extras of the package that are not installed, with the number of files that each would open."""
    faults: list[str] = field(default_factory=list)
    """Why other photos could not be indexed."""
