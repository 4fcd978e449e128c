"""`tellapart reproduce TABLE --data PACK`: a paper's table on your data, beside the published figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.papers.tables import TABLES, find_tables
from tellapart.reproduce.budget import choose_share, parse_budget
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.collect import Data, Filled, fill
from tellapart.reproduce.docs_results import data_of, write_results
from tellapart.reproduce.jobs import features_for, plan, row_recipe, run_measures
from tellapart.reproduce.later import measure_later
from tellapart.reproduce.report import print_filled, write_reports
from tellapart.reproduce.runner import run_plan, say
from tellapart.reproduce.table import Table
from tellapart.reproduce.work import Bench, add_run


@dataclass(frozen=True)
class ReproduceOptions:
    """Train a paper's table on your data and judge its claims. Runs are cached and can be resumed."""

    tables: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Tables such as convse/table3; convse/* is all of a paper's."""
    data: Path | None = None
    """The pack to train and test on."""
    list: bool = False
    """List the tables with their rows."""
    seeds: int | None = None
    """Runs of each row; left out, as many as the table says."""
    rows: tuple[str, ...] = ()
    """Only these rows."""
    features: tuple[str, ...] = ()
    """Names of the pack's features, one of a kind; left out, the only ones of the kind a row reads."""
    budget: str | None = None
    """Time to spend, such as 90s, 20m or 2h: all rows are shortened by the same share of their epochs, and the output
    says so."""
    device: str = "cpu"
    """cpu, cuda, or several joined by commas: cuda:0,cuda:1."""
    jobs: int = 1
    """Runs at once, each in its own process."""
    cache: Path = Path("reproduce-cache")
    """Where runs and results are kept."""
    resident: bool = False
    """Keep all features on the device: fastest where they fit."""
    replay: bool = False
    """Record training steps as CUDA graphs and replay them, for models so small that a GPU waits for Python."""
    add: tuple[Path, ...] = ()
    """Run folders, or caches, made on other machines, to be added to the cache first."""
    out: Path = Path("reproduced")
    """Where the reports are written: NAME.md, NAME.html and NAME.json."""
    report_only: bool = False
    """Train nothing; report what the cache holds, the longest trained of it."""
    results: Path | None = None
    """Write all tables that have cached results into this Markdown file (docs/results.md)."""


def reproduce(options: ReproduceOptions) -> list[Filled]:
    """The filled tables, printed and written."""
    if options.list:
        _print_tables()
        return []
    bench = Bench(options.data or Path(), options.cache, resident=options.resident, replay=options.replay, keep=True)
    _check(options)
    tables = find_tables(options.tables)
    if options.rows:
        tables = [table.only(options.rows) for table in tables]
    for folder in options.add:
        _add(folder, bench, tables, options.device)
    filled: list[Filled] = []
    if tables:
        share, reasons = (1.0, {}) if options.report_only else _run(options, tables, bench)
        cache, pack = Cache(options.cache), Pack(bench.data)
        measure_later(tables, cache, pack, say)
        for table in tables:
            data = _data(table, pack, options.features, share)
            if options.report_only:
                data = next((held for held in data_of(table, cache) if held.fingerprint == pack.fingerprint), data)
            filled.append(fill(table, cache, data, options.seeds, reasons))
            print_filled(filled[-1])
            for path in write_reports(filled[-1], options.out):
                print(f"  {path}")
    if options.results is not None:
        names = write_results(TABLES.values(), Cache(options.cache), options.results)
        print(f"{options.results}: {', '.join(dict.fromkeys(names)) or 'no table has results in this cache'}")
    return filled


def _check(options: ReproduceOptions) -> None:
    if not options.tables and options.results is None and not options.add:
        raise InputError("Name a table, such as convse/table3; `tellapart reproduce --list` shows them all.")
    if options.data is None and (options.tables or any((f / "recipe.json").is_file() for f in options.add)):
        raise InputError("Say which pack to train and test on: --data PACK.")
    if options.report_only and options.budget:
        raise InputError("--report-only trains nothing, so there is no budget to keep; leave one of the two out.")


def _run(options: ReproduceOptions, tables: list[Table], bench: Bench) -> tuple[float, dict[str, str]]:
    """Train what is missing; gives the share of epochs and why rows are missing, if some are."""
    devices = options.device.split(",")
    if options.budget:
        share, planned = choose_share(
            tables, options.features, options.seeds, bench, devices, parse_budget(options.budget)
        )
        if share < 1:
            say(f"budget {options.budget}: every row is trained for {share:.1%} of its epochs")
    else:
        share = 1.0
        cache = bench.open_cache()
        planned = plan(tables, Pack(bench.data), options.features, options.seeds, share, cache)
    outcome = run_plan(planned, bench, options.device, options.jobs)
    # A label ends in ", seed N"; a row is missing only when none of its runs succeeded.
    failed = {label.rpartition(", seed ")[0]: reason for label, reason in outcome.failed.items()}
    if outcome.failed and not outcome.done and not outcome.cached:
        raise InputError(f"No run succeeded. {next(iter(outcome.failed.values()))}")
    return share, {**planned.skipped, **failed}


def _add(folder: Path, bench: Bench, tables: list[Table], device: str) -> None:
    if (folder / "recipe.json").is_file():
        measures = tuple(dict.fromkeys(name for table in tables for name in run_measures(table)))
        key = add_run(folder, bench, measures or ("retrieval", "log"), device.split(",")[0])
        say(f"{folder}: added as {key}")
    else:
        say(f"{folder}: {bench.open_cache().add_results(folder)} results added")


def _data(table: Table, pack: Pack, features: tuple[str, ...], share: float) -> Data:
    names: dict[str, str] = {}
    for row in table.rows:
        recipe = row_recipe(row, 0, 1.0, None)
        if recipe.features != "none" and recipe.features not in names:
            try:
                names[recipe.features] = features_for(pack, recipe, features) or ""
            except InputError:
                # The row was left out, and the report says why.
                continue
    return Data(str(pack.manifest["name"]), pack.fingerprint, names, share)


def _print_tables() -> None:
    from rich.console import Console

    console = Console()
    for table in TABLES.values():
        console.print(f"[bold]{table.name}[/bold]  {table.title}", highlight=False)
        console.print(f"    rows: {'; '.join(row.name for row in table.rows)}", highlight=False, markup=False)
        console.print(f"    tellapart reproduce {table.name} --data PACK", highlight=False)
