"""Arguments that take one path or many."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

OnePath = str | os.PathLike[str]
Paths = OnePath | Iterable[OnePath]


def one_or_many(paths: Paths) -> list[OnePath]:
    """A list from one path or many, each as it was given: `Path` would change the address s3://bucket/photos.

    >>> one_or_many("s3://bucket/photos") == one_or_many(["s3://bucket/photos"]) == ["s3://bucket/photos"]
    True
    """
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths)


def as_paths(paths: Paths) -> list[Path]:
    """A list of paths from one path or many; a string is one path, never its letters.

    >>> as_paths("a.png") == as_paths(Path("a.png")) == as_paths(["a.png"]) == [Path("a.png")]
    True
    """
    return [Path(path) for path in one_or_many(paths)]
