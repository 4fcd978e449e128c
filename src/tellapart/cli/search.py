"""`tellapart search INDEX TEXT`: find photos by text, by images, or by both."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from tellapart.core.precisions import Precision
from tellapart.core.suggestions import meant
from tellapart.search.answer import Answer
from tellapart.search.photo_index import SHORTLIST, PhotoIndex
from tellapart.search.query import Found


@dataclass(frozen=True)
class SearchOptions:
    """Find photos of an index by text, by similar images, or by texts and images added and subtracted."""

    index: Annotated[str, tyro.conf.Positional]
    """An index that `tellapart index` made."""
    words: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """What the photos show: two dogs on a beach. Quotes are not needed."""
    like: tuple[str, ...] = ()
    """Images, or addresses of images, that the photos should resemble, in addition to the text."""
    unlike: tuple[str, ...] = ()
    """Images that the photos should not resemble."""
    without: tuple[str, ...] = ()
    """Text that the photos should not match."""
    count: int = 10
    """How many photos."""
    folder: str = ""
    """Only photos in this folder, or at this address."""
    camera: str = ""
    """Only photos of cameras whose name contains this: canon."""
    place: str = ""
    """Only photos taken near a latitude and longitude: 48.21,16.37, or 48.21,16.37,5 for five kilometres around it."""
    orientation: Literal["", "landscape", "portrait", "square"] = ""
    """Only photos that are wider than high, higher than wide, or square."""
    after: str = ""
    """Only photos taken on this day or later: 2019-07-21."""
    before: str = ""
    """Only photos taken before this day."""
    everything: bool = False
    """Also photos that match too little to be shown."""
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
    precision: Precision = "auto"
    """Of the backbone, or of a model of transformers: float32, bfloat16, float16 (transformers only), or auto."""
    paths: bool = False
    """Print only the paths of photos, one per line."""
    null: Annotated[bool, tyro.conf.arg(aliases=["-0"])] = False
    """Print only the paths of photos, each followed by a NUL, for `xargs -0`."""
    json: bool = False
    """Print JSON: a list of photos."""
    jsonl: bool = False
    """Print JSON lines: one photo per line."""


def search(options: SearchOptions) -> Answer:
    """The photos found, best first; printed too."""
    opened = PhotoIndex(options.index, options.matcher or None, None, options.device, precision=options.precision)
    found = opened.search(
        " ".join(options.words),
        options.count,
        like=options.like,
        unlike=options.unlike,
        without=options.without,
        folder=options.folder or None,
        after=options.after,
        before=options.before,
        camera=options.camera,
        place=options.place,
        orientation=options.orientation,
        exact=options.exact,
        everything=options.everything,
        rerank=options.rerank or None,
        shortlist=options.shortlist,
        share=options.share,
    )
    if options.sheet is not None:
        from tellapart.report.sheet import write_sheet

        write_sheet(found.photos, _title(options), options.sheet)
    for note in notes(found, options):
        print(note, file=sys.stderr)
    _print(found, options, "approximate" if opened.store.approximate() and not options.exact else "exact")
    return found


def _title(options: SearchOptions) -> str:
    parts = [" ".join(options.words)] if options.words else []
    parts += [f"like {Path(path).name}" for path in options.like]
    parts += [f"without {text}" for text in options.without] + [f"unlike {Path(path).name}" for path in options.unlike]
    return ", ".join(parts)


def notes(found: Answer, options: SearchOptions) -> list[str]:
    """What to say about the whole answer: unknown words, and that nothing matches or nothing clearly."""
    said = [f"Unknown word '{one.word}'.{meant(one.suggestions)}" for one in found.unknown]
    if not found.photos:
        said.append(_why_none(found, options))
    elif found.calibrated and not found.clear:
        said.append(f"No photo clearly matches '{_title(options)}'.")
    return said


def _why_none(found: Answer, options: SearchOptions) -> str:
    filtered = any((options.folder, options.after, options.before, options.camera, options.place, options.orientation))
    if found.calibrated and not options.everything:
        among = " among those that pass the filters" if filtered else ""
        return f"No photo matches '{_title(options)}'{among}. Use --everything to see the nearest ones."
    return "No photo passes the filters." if filtered else f"No photo matches '{_title(options)}'."


def as_plain(found: Found) -> dict[str, Any]:
    """For JSON; a photo that could not be compared has no score."""
    score = found.score if math.isfinite(found.score) else None
    taken = found.taken.isoformat() if found.taken else None
    return {**found.__dict__, "score": score, "taken": taken, "copies": list(found.copies)}


def _print(found: Answer, options: SearchOptions, how: str) -> None:
    if options.json:
        print(json.dumps([as_plain(one) for one in found], indent=2, ensure_ascii=False))
    elif options.jsonl:
        for one in found:
            print(json.dumps(as_plain(one), ensure_ascii=False))
    elif options.null:
        sys.stdout.write("".join(f"{one.path}\0" for one in found))
    elif options.paths:
        for one in found:
            print(one.path)
    else:
        print(f"{_title(options)} ({how})")
        for part, photos in (("", found.clear), ("less sure:", found.less_sure)):
            if part and photos:
                print(part)
            for one in photos:
                print("\n".join(_lines(one)))


def _lines(one: Found) -> list[str]:
    """A photo as people read it: how well it matches and its whole path, then what is known about it."""
    how = f"{one.score:6.3f}" if one.probability is None else f"{100 * one.probability:5.0f}%"
    known = [one.taken.date().isoformat() if one.taken else "", one.camera or ""]
    caption = (one.caption or "") + (" (not sure)" if one.caption and one.sure is False else "")
    copies = f"{len(one.copies)} similar" if one.copies else ""
    rest = " · ".join(filter(None, (caption, *known, copies)))
    return [f"{how}  {one.path}", *([f"        {rest}"] if rest else [])]
