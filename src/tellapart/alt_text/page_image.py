"""An image on a page: where it is, which file it shows, and what the page says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tellapart.alt_text.document import Edit


@dataclass
class PageImage:
    """An `<img>` of HTML, or an image of Markdown."""

    sources: tuple[str, ...]
    """What it may show, as written; the best first: the address that a lazy image loads later precedes its
    placeholder."""
    alt: str | None
    """None where it has none. Markdown does not distinguish none from an empty one."""
    start: int
    """Its place in the text."""
    edit: Callable[[str], Edit]
    """The edit that gives it an alternative text."""
    title: str | None = None
    width: float | None = None
    height: float | None = None
    """As the page shows it, in pixels, where it says so."""
    named: bool = False
    """Whether it has another name for screen readers (aria-label, aria-labelledby)."""
    hidden: bool = False
    """Whether the page says that it is decorative: role=presentation, aria-hidden."""
    link: str | None = None
    """Where the link around it leads; None without a link or button."""
    link_text: str = ""
    """The other text of the link or button around it."""
