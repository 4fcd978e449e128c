"""`tellapart index FOLDER… --out INDEX` and `tellapart search INDEX WORDS`."""

from __future__ import annotations

import datetime
import functools
import json as json_text
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from tellapart.core.device import usable_device
from tellapart.core.errors import InputError
from tellapart.core.progress import progress_bar
from tellapart.runs.bundled import PREFIX
from tellapart.search.ann import EXACT_BELOW, Built, build_if_large, built, sample_queries
from tellapart.search.embedder import Embedder, Embeds
from tellapart.search.examined import Engine
from tellapart.search.index import Changes, update_index
from tellapart.search.local_engine import local_engine
from tellapart.search.query import Filters, Found, Searcher, combined
from tellapart.search.store import About, open_or_make, open_store, reject_others


@dataclass(frozen=True)
class IndexOptions:
    """Bring an index up to date with folders of photos; what is in it already is not looked at again."""

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of photos, with all folders inside."""
    out: str
    """The index: a folder, or any address LanceDB takes (s3://…, gs://…, az://…)."""
    matcher: str = "bundled:matcher"
    """The run whose vectors are indexed; it must give an image one vector."""
    captioner: str = "bundled:captioner"
    """The run that writes a caption beside each vector; "none" writes none."""
    engine: Literal["local", "ray"] = "local"
    """ray: examine photos with Ray Data on a cluster, or on several processes of this machine."""
    workers: int = 0
    """Threads (local) or workers (ray). 0: one a core, or two workers."""
    gpus: float = 0
    """GPUs each Ray worker takes; a share such as 0.5 lets two of them use one."""
    chunk: int = 256
    """Photos that become visible together; at most so many are looked at again after a crash."""
    forget: bool = False
    """Take out the photos of a folder that holds none any more (otherwise held to be a disk that is not mounted)."""
    device: str = "cpu"
    """cpu, cuda, …"""
    json: bool = False
    """Print JSON instead of a sentence."""
    progress: bool = True
    """Show how far it is."""


def index(options: IndexOptions) -> Changes:
    """What was added, changed, carried over and deleted; printed too."""
    if options.chunk < 1:
        raise InputError(f"A chunk holds at least one photo, not {options.chunk}.")
    captioner = "" if options.captioner in ("", "none") else options.captioner
    device = str(usable_device(options.device))
    make: Callable[[], Embeds] = functools.partial(
        Embedder, options.matcher, captioner, device, options.workers if options.engine == "local" else 1
    )
    embedder = make()
    about = About(embedder.fingerprint, _lasting(options.matcher), _lasting(captioner), embedder.width)
    store = open_or_make(options.out, about)

    def engine_for(contents: np.ndarray) -> Engine:
        if options.engine == "local":
            return local_engine(embedder, contents)
        from tellapart.search.ray_engine import ray_engine

        return ray_engine(make, contents, options.workers or 2, options.chunk, options.gpus)

    with progress_bar(None, "indexing", enabled=options.progress, unit="photos") as tick:
        changes = update_index(store, options.folders, engine_for, options.chunk, options.forget, tick)
    made = build_if_large(store, sample_queries(store, embedder.words)) if len(store) >= EXACT_BELOW else None
    _tell(changes, made, len(store), options)
    return changes


def _lasting(run: str) -> str:
    """A run's name that means the same from another folder."""
    return run if not run or run.startswith(PREFIX) else str(Path(run).resolve())


def _tell(changes: Changes, made: Built | None, photos: int, options: IndexOptions) -> None:
    if options.json:
        facts = {**changes.__dict__, "photos": photos, "recall": None if made is None else made.recall}
        print(json_text.dumps(facts, indent=2))
        return
    print(
        f"{options.out}: {photos} photos; {changes.added} new, {changes.changed} changed, {changes.carried} moved or "
        f"copied, {changes.deleted} gone, {changes.unchanged} as they were."
    )
    if made is not None:
        print(
            f"Built an approximate index: it finds {100 * made.recall:.1f}% of the ten nearest that exact search finds "
            f"(looking into {made.nprobes} cells)."
        )
    for fault in changes.faults[:10]:
        print(f"  left out: {fault}", file=sys.stderr)
    if len(changes.faults) > 10:
        print(f"  left out: {len(changes.faults) - 10} more", file=sys.stderr)


@dataclass(frozen=True)
class SearchOptions:
    """Find photos of an index by words, by images like them, or by words and images added and taken away."""

    index: Annotated[str, tyro.conf.Positional]
    """An index, as `tellapart index` made it."""
    words: Annotated[str, tyro.conf.Positional] = ""
    """What is on the photos: "two dogs on a beach"."""
    like: tuple[Path, ...] = ()
    """Images that are like what is wanted; with words, both count."""
    unlike: tuple[Path, ...] = ()
    """Images that are like what is not wanted."""
    without: tuple[str, ...] = ()
    """Words for what is not wanted."""
    count: int = 10
    """How many photos."""
    folder: Path | None = None
    """Only photos in this folder."""
    after: str = ""
    """Only photos taken on this day or later: 2019-07-21."""
    before: str = ""
    """Only photos taken before this day."""
    exact: bool = False
    """Compare with every photo, though there be an approximate index."""
    rerank: str = ""
    """A matcher's run (SCAN, say) that looks at the best again and orders them."""
    shortlist: int = 50
    """How many the second matcher looks at."""
    share: float = 0.5
    """The second matcher's say in the order, 0 … 1."""
    matcher: str = ""
    """The run the index was made with; left out, where it lay then."""
    sheet: Path | None = None
    """Write small images of what was found: .png or .html."""
    device: str = "cpu"
    """cpu, cuda, …"""
    json: bool = False
    """Print JSON instead of a table."""


def search(options: SearchOptions) -> list[Found]:
    """The photos found, best first; printed too."""
    if options.count < 1:
        raise InputError(f"At least one photo must be asked for, not {options.count}.")
    if options.rerank and not options.words:
        raise InputError("A second matcher reads words; say some, or leave --rerank away.")
    filters = Filters(
        str(options.folder.resolve()) if options.folder else "",
        _day(options.after, "--after"),
        _day(options.before, "--before"),
    )
    store = open_store(options.index)
    matcher = options.matcher or store.about.matcher
    device = usable_device(options.device)
    embedder = Embedder(matcher, device=device)
    reject_others(store, embedder.fingerprint, matcher)
    said = [*embedder.words([options.words])] if options.words else []
    unsaid = [*embedder.words(options.without)] if options.without else []
    query = combined(
        said + [embedder.image(path) for path in options.like],
        unsaid + [embedder.image(path) for path in options.unlike],
    )
    asked_for = max(options.count, options.shortlist) if options.rerank else options.count
    found = Searcher(store).nearest(query, asked_for, filters, options.exact)
    if options.rerank:
        from tellapart.search.rerank import Reranker

        found = Reranker(options.rerank, device).rerank(found, options.words, options.share)[: options.count]
    if options.sheet is not None:
        from tellapart.report.sheet import write_sheet

        write_sheet(found, _in_words(options), options.sheet)
    _print(found, options, "approximate" if built(store) and not options.exact else "exact")
    return found


def _in_words(options: SearchOptions) -> str:
    parts = [options.words] if options.words else []
    parts += [f"like {path.name}" for path in options.like]
    parts += [f"without {words}" for words in options.without] + [f"unlike {path.name}" for path in options.unlike]
    return ", ".join(parts)


def _day(text: str, option: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text) if text else None
    except ValueError as error:
        raise InputError(f"{option} takes a day such as 2019-07-21, not '{text}'.") from error


def as_plain(found: Found) -> dict[str, Any]:
    """For JSON; a photo that could not be compared has no score."""
    score = found.score if math.isfinite(found.score) else None
    return {**found.__dict__, "score": score, "taken": found.taken.isoformat() if found.taken else None}


def _print(found: list[Found], options: SearchOptions, how: str) -> None:
    if options.json:
        print(json_text.dumps([as_plain(one) for one in found], indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{_in_words(options)} ({how})")
    for name in ("score", "photo", "caption", "taken"):
        table.add_column(name, overflow="fold")
    for one in found:
        taken = one.taken.date().isoformat() if one.taken else ""
        table.add_row(f"{one.score:.3f}", one.path, one.caption or "", taken)
    Console(markup=False, emoji=False).print(table)  # words, files and captions are no markup, whatever is in them
