"""Arguments that take one path or many."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

OnePath = str | os.PathLike[str]
Paths = OnePath | Iterable[OnePath]


def as_paths(paths: Paths) -> list[Path]:
    """A list of paths from one path or many; a string is one path, never its letters.

    >>> as_paths("a.png") == as_paths(Path("a.png")) == as_paths(["a.png"]) == [Path("a.png")]
    True
    """
    return [Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
