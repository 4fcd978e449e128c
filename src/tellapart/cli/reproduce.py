"""`tellapart reproduce TABLE --data PACK`: a paper's table on your data, next to the published values."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.cli.reproduce_output import print_filled, print_tables
from tellapart.core.errors import InputError
from tellapart.papers.tables import TABLES, find_tables
from tellapart.reproduce.budget import parse_budget
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.fill import Filled
from tellapart.reproduce.report import write_reports
from tellapart.reproduce.reproduce import add_to_cache, fill_from_cache
from tellapart.reproduce.reproduce import reproduce as reproduce_tables
from tellapart.reproduce.results_page import write_results
from tellapart.reproduce.settings import Order, ReproduceSettings


@dataclass(frozen=True)
class ReproduceOptions:
    """Train a paper's table on your data and check its claims. Runs are cached and can be resumed."""

    tables: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Tables such as convse/table3; convse/* names all tables of a paper."""
    data: Path | None = None
    """The pack to train and test on."""
    list: bool = False
    """List the tables with their rows."""
    seeds: int | None = None
    """Runs per row. Default: as many as the table says."""
    rows: tuple[str, ...] = ()
    """Only these rows."""
    features: tuple[str, ...] = ()
    """Names of the pack's features, one per kind. Default: the only ones of the kind that a row reads."""
    budget: str | None = None
    """Time to spend, such as 90s, 20m or 2h: all rows are shortened by the same share of their epochs, and the reports
    say so. Runs that do not end in time are stopped; the same command resumes them."""
    device: str = "cpu"
    """cpu, cuda, or several joined by commas: cuda:0,cuda:1."""
    jobs: int = 1
    """Runs at once, each in its own process."""
    order: Order = "longest"
    """Which runs start first: longest (all end soonest), or claims (those that decide most claims for their time)."""
    cache: Path = Path("reproduce-cache")
    """Folder for runs and results."""
    resident: bool = False
    """Keep all features on the device. Fastest where they fit."""
    replay: bool = False
    """Record training steps as CUDA graphs and replay them. Faster for models so small that the GPU waits for
    Python."""
    tf32: bool = False
    """Round factors of float32 matrix products to TF32 on a GPU that can: faster, and results say so."""
    compile: bool = False
    """Compile the backbone of rows that are trained end to end."""
    pixels: str = "auto"
    """Where the images of such rows are kept: device, stream (decoded for every batch), or auto: the device if they
    fit."""
    add: tuple[Path, ...] = ()
    """Run folders, or caches, from other machines to add to the cache first."""
    out: Path = Path("reproduced")
    """Folder for the reports: NAME.md, NAME.html and NAME.json."""
    report_only: bool = False
    """Train nothing; report what the cache holds, the longest trained runs of it."""
    results: Path | None = None
    """Write all tables that have cached results into this Markdown file (docs/results.md)."""


def reproduce(options: ReproduceOptions) -> list[Filled]:
    """Print and write the filled tables, and return them."""
    if options.list:
        print_tables(TABLES.values())
        return []
    _check(options)
    settings = ReproduceSettings(
        options.data or Path(),
        options.cache,
        options.features,
        options.seeds,
        device=options.device,
        jobs=options.jobs,
        order=options.order,
        resident=options.resident,
        replay=options.replay,
        tf32=options.tf32,
        compile=options.compile,
        pixels=options.pixels,
        keep=True,
    )
    tables = find_tables(options.tables)
    if options.rows:
        tables = [table.only(options.rows) for table in tables]
    for folder in options.add:
        say(add_to_cache(folder, tables, settings))
    filled: list[Filled] = []
    if tables and options.report_only:
        filled = fill_from_cache(tables, settings, say)
    elif tables:
        filled = reproduce_tables(tables, settings, parse_budget(options.budget) if options.budget else None, say)
    for one in filled:
        print_filled(one)
        for path in write_reports(one, options.out):
            print(f"  {path}")
    if options.results is not None:
        names = write_results(TABLES.values(), Cache(options.cache), options.results)
        print(f"{options.results}: {', '.join(dict.fromkeys(names)) or 'no table has results in this cache'}")
    return filled


def say(text: str) -> None:
    """Print a line on standard error."""
    print(text, file=sys.stderr, flush=True)


def _check(options: ReproduceOptions) -> None:
    if not options.tables and options.results is None and not options.add:
        raise InputError("Name a table, such as convse/table3; `list=True` shows them all.")
    if options.data is None and (options.tables or any((f / "recipe.json").is_file() for f in options.add)):
        raise InputError("Name the pack to train and test on: `data=PACK`.")
    if options.report_only and options.budget:
        raise InputError("`report_only` trains nothing, so it has no use for `budget`; remove one of them.")
