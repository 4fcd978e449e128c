"""Tables of papers on a pack: train what is missing, measure, and fill the tables."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.reproduce.budget import choose_share
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.fill import Filled, data_for, fill
from tellapart.reproduce.measure_derived import measure_derived
from tellapart.reproduce.messages import Report, silent
from tellapart.reproduce.plan import plan, run_measures
from tellapart.reproduce.results_page import data_of
from tellapart.reproduce.run_job import add_run
from tellapart.reproduce.runner import run_plan
from tellapart.reproduce.settings import ReproduceSettings
from tellapart.reproduce.table import Table


def reproduce(
    tables: Sequence[Table], settings: ReproduceSettings, budget: float | None = None, report: Report = silent
) -> list[Filled]:
    """Train what the cache does not have and return the filled tables.

    budget: seconds to spend; all rows are then trained for the same share of their epochs. A run that does not end in
    time all the same is stopped, and the next call resumes it.
    """
    started = time.monotonic()
    if budget is None:
        planned = plan(tables, settings)
    else:
        share, planned = choose_share(tables, settings, budget)
        settings = replace(settings, share=share, seconds_limit=budget - (time.monotonic() - started))
        if share < 1:
            report(f"every row is trained for {share:.1%} of its epochs to fit the budget")
    outcome = run_plan(planned, settings, report)
    if outcome.left:
        report(f"not finished in time, the same call resumes: {'; '.join(outcome.left)}")
    if outcome.failed and not outcome.done and not outcome.cached:
        raise InputError(f"No run succeeded. {next(iter(outcome.failed.values()))}")
    # A label ends in ", seed N"; a row is missing only when none of its runs succeeded.
    left = dict.fromkeys(outcome.left, "Not finished in the time given.")
    reasons = {label.rpartition(", seed ")[0]: reason for label, reason in {**left, **outcome.failed}.items()}
    return _filled(tables, settings, {**planned.skipped, **reasons}, report)


def _filled(
    tables: Sequence[Table], settings: ReproduceSettings, reasons: Mapping[str, str], report: Report
) -> list[Filled]:
    cache, pack = Cache(settings.cache), Pack(settings.data)
    measure_derived(tables, cache, pack, report)
    return [fill(table, cache, data_for(table, pack, settings), settings.seeds, reasons) for table in tables]


def fill_from_cache(tables: Sequence[Table], settings: ReproduceSettings, report: Report = silent) -> list[Filled]:
    """The tables filled with what the cache holds of this pack, the longest trained runs; nothing is trained."""
    cache, pack = Cache(settings.cache), Pack(settings.data)
    measure_derived(tables, cache, pack, report)
    filled = []
    for table in tables:
        cached = (data for data in data_of(table, cache) if data.fingerprint == pack.fingerprint)
        filled.append(fill(table, cache, next(cached, data_for(table, pack, settings)), settings.seeds))
    return filled


def add_to_cache(folder: Path, tables: Sequence[Table], settings: ReproduceSettings) -> str:
    """Add a run folder, or the results of another cache; returns a line that says what was added."""
    if (folder / "recipe.json").is_file():
        measures = tuple(dict.fromkeys(name for table in tables for name in run_measures(table)))
        return f"{folder}: added as {add_run(folder, settings, measures or ('retrieval', 'log'))}"
    return f"{folder}: {settings.open_cache().add_results(folder)} results added"
