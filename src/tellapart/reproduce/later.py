"""Measures that need no model, computed from what is in the cache when a table is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.reproduce.cache import Cache, Result
from tellapart.reproduce.jobs import row_hash
from tellapart.reproduce.later_measures import LATER
from tellapart.reproduce.table import Table


def measure_later(tables: Sequence[Table], cache: Cache, pack: Pack, tell: Callable[[str], None]) -> int:
    """Compute and keep what the tables want of this pack's results; gives how many results were judged."""
    judged = 0
    for table in tables:
        hashes = {row_hash(row) for row in table.rows}
        for measure in dict.fromkeys(column.measure for column in table.columns if column.measure in LATER):
            wanted = frozenset(column.metric for column in table.columns if column.measure == measure)
            for result in cache.fresh_results():
                if result.recipe_hash in hashes and result.fingerprint == pack.fingerprint:
                    judged += _measure(result, measure, wanted, cache, pack, tell)
    return judged


def _measure(
    result: Result, measure: str, wanted: frozenset[str], cache: Cache, pack: Pack, tell: Callable[[str], None]
) -> bool:
    later = LATER[measure]
    if wanted <= set(result.figures.get(measure, {})) or later.source not in result.figures:
        return False
    if later.needs_features and result.features not in pack.feature_names():
        tell(f"{measure} is left out: {pack.folder} has no features '{result.features}'.")
        return False
    kept = cache.items(result.key, later.source)
    try:
        measured = later.compute(kept, pack, result.features, wanted)
    except InputError as error:
        if "meteor" not in wanted:
            raise
        if measure in result.figures:
            return False
        # The other metrics are no worse for the want of METEOR's tables; its cells stay empty, and we say why.
        tell(f"METEOR is left out: {error}")
        measured = later.compute(kept, pack, result.features, wanted - {"meteor"})
    cache.store(result, {measure: measured}, cache.log_path(result.key))
    return True
