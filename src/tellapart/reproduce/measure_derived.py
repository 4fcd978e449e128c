"""Measures that need no model, computed from what the cache holds when a table is made."""

from __future__ import annotations

from collections.abc import Sequence

from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.reproduce.cache import Cache, Result
from tellapart.reproduce.derived_measures import DERIVED
from tellapart.reproduce.messages import Report, silent
from tellapart.reproduce.row_recipes import row_hash
from tellapart.reproduce.table import Table


def measure_derived(tables: Sequence[Table], cache: Cache, pack: Pack, report: Report = silent) -> int:
    """Compute and store what the tables need of this pack's results; returns how many results were measured."""
    count = 0
    for table in tables:
        hashes = {row_hash(row) for row in table.rows}
        for measure in dict.fromkeys(column.measure for column in table.columns if column.measure in DERIVED):
            metrics = frozenset(column.metric for column in table.columns if column.measure == measure)
            for result in cache.fresh_results():
                if result.recipe_hash in hashes and result.fingerprint == pack.fingerprint:
                    count += _measure(result, measure, metrics, cache, pack, report)
    return count


def _measure(result: Result, measure: str, metrics: frozenset[str], cache: Cache, pack: Pack, report: Report) -> bool:
    derived = DERIVED[measure]
    if metrics <= set(result.values.get(measure, {})) or derived.source not in result.values:
        return False
    if derived.needs_features and result.features not in pack.feature_names():
        report(f"{measure} is not measured: {pack.folder} has no features '{result.features}'.")
        return False
    stored = cache.items(result.key, derived.source)
    try:
        measured = derived.compute(stored, pack, result.features, metrics)
    except InputError as error:
        if "meteor" not in metrics:
            raise
        if measure in result.values:
            return False
        # The other metrics do not depend on METEOR's tables; its cells stay empty.
        report(f"METEOR is not measured: {error}")
        measured = derived.compute(stored, pack, result.features, metrics - {"meteor"})
    cache.store(result, {measure: measured}, cache.log_path(result.key))
    return True
