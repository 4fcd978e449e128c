"""docs/results.md, written from cached runs and never by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tellapart.data.files import write_text
from tellapart.reproduce.cache import Cache, Result
from tellapart.reproduce.collect import Data, Filled, fill
from tellapart.reproduce.jobs import row_hash, row_recipe
from tellapart.reproduce.plots import curves_svg
from tellapart.reproduce.report import as_markdown
from tellapart.reproduce.table import Table

HEAD = """# Results

Written by `tellapart reproduce --results docs/results.md --cache CACHE` from cached runs; do not edit. Figures in rows
marked "here" are ours, with 95% intervals; the paper's stand below them, on the paper's own data and backbone.
A claim is held or not held when the interval of the difference lies on one side, and undecided otherwise.

PACK in the commands is Flickr8k with its public split: `tellapart prepare FLICKR8K --out PACK`, then
`tellapart extract PACK --kind vector,grid,regions` and `tellapart annotate PACK --sentence-targets minilm --objects`.
"""


def write_results(tables: Iterable[Table], cache: Cache, path: Path) -> list[str]:
    """All tables that have results, one section for each set of data they were run on; gives their names."""
    tables = list(tables)
    tables_with = Counter(own for table in tables for own in {row_hash(row) for row in table.rows})
    sections: list[str] = []
    names: list[str] = []
    for table in tables:
        for number, data in enumerate(data_of(table, cache)):
            filled = fill(table, cache, data)
            found = {row_hash(table.row(name)) for name in filled.results}
            if len(filled.results) < len(table.rows) and all(tables_with[own] > 1 for own in found):
                continue  # what there is of it stands in other tables
            sections.append(as_markdown(filled, _draw(filled, path.parent, number)))
            names.append(table.name)
    write_text(path, "\n\n".join([HEAD.rstrip(), *sections]) + "\n")
    return names


def data_of(table: Table, cache: Cache) -> list[Data]:
    """The packs, features and shares of epochs for which the cache holds rows of this table; the fullest first."""
    kinds = {row_hash(row): row_recipe(row, 0, 1.0, None).features for row in table.rows}
    own = [r for r in cache.all_results if r.recipe_hash in kinds and table.pack_name in r.pack]
    found: dict[tuple[str, float, tuple[tuple[str, str], ...]], tuple[Data, int]] = {}
    for result in own:
        beside = [r for r in own if r.fingerprint == result.fingerprint and r.share == result.share]
        features = {**_common_features(beside, kinds), kinds[result.recipe_hash]: result.features or ""}
        features = {kind: name for kind, name in features.items() if name}
        identity = (result.fingerprint, result.share, tuple(sorted(features.items())))
        data, count = found.get(identity, (Data(result.pack, result.fingerprint, features, result.share), 0))
        found[identity] = (data, count + 1)
    return [data for data, _ in sorted(found.values(), key=lambda pair: (-pair[0].share, -pair[1]))]


def _common_features(results: list[Result], kinds: dict[str, str]) -> dict[str, str]:
    """For each kind, the features most of these results were made with."""
    counts: dict[str, dict[str, int]] = {}
    for result in results:
        names = counts.setdefault(kinds[result.recipe_hash], {})
        names[result.features or ""] = names.get(result.features or "", 0) + 1
    return {kind: max(sorted(names), key=lambda name: names[name]) for kind, names in counts.items()}


def _draw(filled: Filled, folder: Path, number: int) -> str:
    drawn = curves_svg(filled)
    if not drawn:
        return ""
    name = f"figures/{filled.table.name.replace('/', '-')}{f'-{number + 1}' if number else ''}.svg"
    write_text(folder / name, drawn)
    return name
