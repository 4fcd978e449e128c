"""What a campaign is: a folder that is made once, and numbered cases that attack a copy of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


class Broken(Exception):
    """A promise that a case found broken."""


class Skipped(Exception):
    """A campaign that cannot run here; the message says why."""


def check(holds: object, what: str) -> None:
    """Raise Broken unless something holds."""
    if not holds:
        raise Broken(what)


def nothing(folder: Path) -> None:
    """A campaign that needs no files."""


@dataclass(frozen=True)
class Case:
    """One numbered attack. `folder` is the campaign's own and is made once; `scratch` is empty and only this case's."""

    number: int
    seed: int
    folder: Path
    scratch: Path


@dataclass(frozen=True)
class Campaign:
    """Cases 0, 1, …, each of which returns, or raises an error that counts as a failure."""

    run: Callable[[Case], None]
    count: Callable[[Path], int]
    """How many cases the whole campaign has, from its folder."""
    sample: int
    """How many of them, evenly spread, `make test` runs."""
    make: Callable[[Path], None] = nothing
    """Fills the campaign's folder, in a separate process."""
    preload: tuple[str, ...] = ()
    """Modules to import before processes are forked."""
    chunk: int = 100
    """Cases per forked process."""
    limit: float = 300.0
    """Seconds after which a case hangs."""
    needs_shim: bool = False
    """Whether it needs the preloaded library, and so a C compiler."""
    most_bytes: int = 2 << 30
    """Memory that a case may hold."""


def number_of(cases: int) -> Callable[[Path], int]:
    """A fixed number of cases."""
    return lambda folder: cases


def spread(total: int, wanted: int) -> list[int]:
    """`wanted` of the numbers below `total`, evenly spread.

    >>> spread(10, 4)
    [0, 2, 5, 7]
    >>> spread(2, 5)
    [0, 1]
    """
    wanted = min(total, wanted)
    return [place * total // wanted for place in range(wanted)]
