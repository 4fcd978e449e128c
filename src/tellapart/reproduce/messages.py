"""How long-running functions report what they do: they call a function with each line, and print nothing themselves."""

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[str], None]
"""Takes one line of text."""


def silent(text: str) -> None:
    """Report nothing."""
