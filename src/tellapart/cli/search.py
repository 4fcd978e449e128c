"""`tellapart search INDEX TEXT`: find photos by text, by images, or by both."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from tellapart.search.ann import built
from tellapart.search.photo_index import SHORTLIST, PhotoIndex
from tellapart.search.query import Found


@dataclass(frozen=True)
class SearchOptions:
    """Find photos of an index by text, by similar images, or by texts and images added and subtracted."""

    index: Annotated[str, tyro.conf.Positional]
    """An index that `tellapart index` made."""
    words: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """What the photos show: two dogs on a beach. Quotes are not needed."""
    like: tuple[Path, ...] = ()
    """Images that the photos should resemble, in addition to the text."""
    unlike: tuple[Path, ...] = ()
    """Images that the photos should not resemble."""
    without: tuple[str, ...] = ()
    """Text that the photos should not match."""
    count: int = 10
    """How many photos."""
    folder: Path | None = None
    """Only photos in this folder."""
    after: str = ""
    """Only photos taken on this day or later: 2019-07-21."""
    before: str = ""
    """Only photos taken before this day."""
    exact: bool = False
    """Compare with every photo even if there is an approximate index."""
    rerank: str = ""
    """A matcher's run (SCAN, for example) that reorders the best photos."""
    shortlist: int = SHORTLIST
    """How many photos the second matcher reorders."""
    share: float = 0.5
    """The weight of the second matcher in the order, 0 … 1."""
    matcher: str = ""
    """The run that the index was made with, if it has moved since."""
    sheet: Path | None = None
    """Write thumbnails of the results: .png or .html."""
    device: str = "cpu"
    """cpu, cuda, …"""
    json: bool = False
    """Print JSON instead of a table."""


def search(options: SearchOptions) -> list[Found]:
    """The photos found, best first; printed too."""
    opened = PhotoIndex(options.index, options.matcher or None, None, options.device)
    found = opened.search(
        " ".join(options.words),
        options.count,
        like=options.like,
        unlike=options.unlike,
        without=options.without,
        folder=options.folder,
        after=options.after,
        before=options.before,
        exact=options.exact,
        rerank=options.rerank or None,
        shortlist=options.shortlist,
        share=options.share,
    )
    if options.sheet is not None:
        from tellapart.report.sheet import write_sheet

        write_sheet(found, _title(options), options.sheet)
    _print(found, options, "approximate" if built(opened.store) and not options.exact else "exact")
    return found


def _title(options: SearchOptions) -> str:
    parts = [" ".join(options.words)] if options.words else []
    parts += [f"like {path.name}" for path in options.like]
    parts += [f"without {text}" for text in options.without] + [f"unlike {path.name}" for path in options.unlike]
    return ", ".join(parts)


def as_plain(found: Found) -> dict[str, Any]:
    """For JSON; a photo that could not be compared has no score."""
    score = found.score if math.isfinite(found.score) else None
    return {**found.__dict__, "score": score, "taken": found.taken.isoformat() if found.taken else None}


def _caption_text(found: Found) -> str:
    """The caption as the table shows it."""
    return (found.caption or "") + (" (not sure)" if found.caption and found.sure is False else "")


def _print(found: list[Found], options: SearchOptions, how: str) -> None:
    if options.json:
        print(json.dumps([as_plain(one) for one in found], indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{_title(options)} ({how})")
    for name in ("score", "photo", "caption", "taken"):
        table.add_column(name, overflow="fold")
    for one in found:
        taken = one.taken.date().isoformat() if one.taken else ""
        table.add_row(f"{one.score:.3f}", one.path, _caption_text(one), taken)
    Console(markup=False, emoji=False).print(table)  # text, files and captions may contain markup
