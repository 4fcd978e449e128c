"""A table filled with the results that the cache holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tellapart.core.errors import InputError
from tellapart.data.feature_choice import NO_FEATURES, choose_features
from tellapart.data.pack import Pack
from tellapart.reproduce.cache import Cache, Result
from tellapart.reproduce.claims import CheckedClaim, check_claim
from tellapart.reproduce.draws import drawn_of_run
from tellapart.reproduce.paper_gains import paper_gains
from tellapart.reproduce.row_recipes import row_hash, row_recipe
from tellapart.reproduce.settings import ReproduceSettings
from tellapart.reproduce.statistics import Cell
from tellapart.reproduce.table import Column, Row, Table
from tellapart.training.log import read_log


@dataclass(frozen=True)
class Data:
    """What the values were measured on."""

    pack: str
    fingerprint: str
    features: Mapping[str, str]
    """Names of the features, by kind."""
    share: float = 1.0
    """Share of the recipes' epochs that were trained."""


@dataclass(frozen=True)
class Filled:
    """A table with our values."""

    table: Table
    data: Data
    cells: Mapping[tuple[str, str], Cell]
    claims: tuple[CheckedClaim, ...]
    results: Mapping[str, tuple[Result, ...]]
    """Runs by row, ordered by seed."""
    curves: Mapping[tuple[str, str], tuple[tuple[float, float], ...]]
    """(row, curve) -> (steps so far, value) points of the first run."""
    missing: Mapping[str, str]
    """Rows without a result, with the reason where it is known."""

    @property
    def seeds(self) -> int:
        """The largest number of runs of a row."""
        return max((len(runs) for runs in self.results.values()), default=0)


def data_for(table: Table, pack: Pack, settings: ReproduceSettings) -> Data:
    """The pack, its features by kind, and the share of epochs that the rows of a table are run with."""
    names: dict[str, str] = {}
    for row in table.rows:
        kind = row_recipe(row).features
        if kind != NO_FEATURES and kind not in names:
            try:
                store = choose_features(pack, kind, candidates=settings.features)
            except InputError:
                continue  # the row was skipped, and the report says why
            names[kind] = store.name if store else ""
    return Data(str(pack.manifest["name"]), pack.fingerprint, names, settings.share)


def fill(
    table: Table, cache: Cache, data: Data, seeds: int | None = None, reasons: Mapping[str, str] | None = None
) -> Filled:
    """The table with the results of its rows; `seeds` limits the runs per row, None takes all."""
    results: dict[str, tuple[Result, ...]] = {}
    cells: dict[tuple[str, str], Cell] = {}
    missing: dict[str, str] = {}
    for row in table.rows:
        runs = _runs_of(row, cache, data, seeds)
        if not runs:
            missing[row.name] = (reasons or {}).get(f"{table.name}: {row.name}", "not run yet")
            continue
        results[row.name] = runs
        for column in table.columns:
            cell = _cell(column, runs, cache)
            if cell is not None:
                cells[row.name, column.name] = cell
    gains = paper_gains(table)
    claims = tuple(check_claim(claim, cells, gains) for claim in table.claims)
    return Filled(
        table, data, cells=cells, claims=claims, results=results, curves=_curves(table, results, cache), missing=missing
    )


def _runs_of(row: Row, cache: Cache, data: Data, seeds: int | None) -> tuple[Result, ...]:
    hashed, kind = row_hash(row), row_recipe(row).features
    fitting = [
        result
        for result in cache.all_results
        if result.recipe_hash == hashed
        and result.fingerprint == data.fingerprint
        and result.features == data.features.get(kind)
        and abs(result.share - data.share) < 1e-9
        and (seeds is None or result.seed < seeds)
    ]
    return tuple(sorted(fitting, key=lambda result: result.seed))


def metric_of(column: Column, runs: tuple[Result, ...]) -> str:
    """The metric that fills a column: the mean over folds where the paper has that and all runs do."""
    folded = f"1k_{column.metric}"
    has = column.in_folds and all(folded in run.values.get(column.measure, {}) for run in runs)
    return folded if has else column.metric


def _cell(column: Column, runs: tuple[Result, ...], cache: Cache) -> Cell | None:
    metric = metric_of(column, runs)
    values = {
        run.seed: run.values[column.measure][metric] for run in runs if metric in run.values.get(column.measure, {})
    }
    if not values:
        return None
    drawn = {run.seed: drawn_of_run(cache, run.key, column.measure, metric) for run in runs if run.seed in values}
    return Cell(values, {seed: draws for seed, draws in drawn.items() if draws is not None})


def _curves(
    table: Table, results: Mapping[str, tuple[Result, ...]], cache: Cache
) -> dict[tuple[str, str], tuple[tuple[float, float], ...]]:
    curves = {}
    for row, runs in results.items() if table.curves else ():
        log = read_log(cache.log_path(runs[0].key))
        for curve in table.curves:
            points = tuple(
                (float(line["total"]), float(line[next(key for key in curve.keys if key in line)]))
                for line in log
                if any(key in line for key in curve.keys)
            )
            if points:
                curves[row, curve.title] = points
    return curves
