"""docs/results.md, written from cached runs and never by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tellapart.core.files import write_text
from tellapart.reproduce.cache import Cache, Result
from tellapart.reproduce.fill import Data, Filled, fill
from tellapart.reproduce.plots import draw_svg
from tellapart.reproduce.report_markdown import as_markdown, features_of
from tellapart.reproduce.row_recipes import row_hash, row_recipe
from tellapart.reproduce.table import Table
from tellapart.reproduce.tally import tally_claims, tally_markdown

HEAD = """# Results

Written by `tellapart reproduce --results docs/results.md --cache CACHE` from cached runs; do not edit. Values in rows
marked "here" are ours, with 95% intervals. The paper's are below them, on the paper's own data and backbone.
A claim is held or not held if the whole interval of the difference is on one side. It is also not held if the interval
includes 0 but not half of the paper's own gain, which the check then names: what is left of the gain, if anything, is
too small to replicate it. Where the paper has no number, 5 of R@sum, 2 of CIDEr and 1 of BLEU-4 take the place of that
half, since the tables call such differences little. Otherwise it is undecided. Every check names its method. *Paired
seeds*: the difference of two rows, seed by seed. *Two-level bootstrap*: over test images, the same for both rows, and
over seeds. *Paired t*: over seeds only, where the values of single images are not stored. *Welch t*: rows with
different seeds, as if independent. `reproduce/comparisons.py` has the formulas.

PACK in the commands is Flickr8k with its public split: `tellapart prepare FLICKR8K --out PACK`, then
`tellapart extract PACK --kind vector,grid,regions` and `tellapart annotate PACK --sentence-targets minilm --objects`.
Features whose names begin with lite2 need `extract --backbone efficientnet-lite2`, mirrored rows need `extract --flip`,
and regions that are not fixed need detections in the pack or `extract --regions-from DETECTOR`. In the names of
features, cut means `--cut 128`, named `--named` and cells `--cells`. In tables on COCO, PACK has our split of it: see
[data formats](data-formats.md).
"""


def write_results(tables: Iterable[Table], cache: Cache, path: Path) -> list[str]:
    """Write the tally and all tables that have results, with a section for each set of data they were run on; returns
    their names."""
    tables = list(tables)
    filled = [
        (fill(table, cache, data), place)
        for table in tables
        for place, data in enumerate(data for data in data_of(table, cache) if not _elsewhere(data.pack, table, tables))
    ]
    chosen = {id(one) for one in _informative([one for one, _ in filled])}
    shown = [(one, place) for one, place in filled if id(one) in chosen]
    sections = [
        as_markdown(one, _draw(one, path.parent, place), suffix=_suffix(one, [other for other, _ in shown]))
        for one, place in shown
    ]
    visible = {one.table.name for one, _ in shown}
    counted = [one for one, _ in filled if id(one) in chosen or one.table.name not in visible]
    tally = tally_markdown(tally_claims(tables, counted))
    write_text(path, "\n\n".join([HEAD.rstrip(), tally, *sections]) + "\n")
    return [one.table.name for one, _ in shown]


def _elsewhere(pack: str, table: Table, tables: list[Table]) -> bool:
    """Whether a pack belongs to other tables of the paper, made for packs of its name."""
    paper = table.name.split("/")[0]
    return not table.pack_names and any(
        other.pack_names and other.name.split("/")[0] == paper and _suits(pack, other) for other in tables
    )


def _suffix(filled: Filled, shown: list[Filled]) -> str:
    """What tells the sections of one table apart: the pack, the features, or both."""
    others = [one for one in shown if one.table.name == filled.table.name and one is not filled]
    pack = f" on {filled.data.pack}" if any(one.data.pack != filled.data.pack for one in others) else ""
    alike = any(one.data.pack == filled.data.pack for one in others)
    return pack + (f" on {', '.join(features_of(filled))}" if alike else "")


def _informative(filled: list[Filled]) -> list[Filled]:
    """Complete tables, and those others that have a run which no table before them shows."""
    kept = [one for one in filled if not one.missing]
    for one in filled:
        if one.missing and not _runs(one) <= {key for other in kept for key in _runs(other)}:
            kept.append(one)
    return kept


def _runs(filled: Filled) -> set[str]:
    return {result.key for runs in filled.results.values() for result in runs}


def data_of(table: Table, cache: Cache) -> list[Data]:
    """The packs, features and shares of epochs for which the cache holds rows of this table, the most complete
    first."""
    kinds = {row_hash(row): row_recipe(row).features for row in table.rows}
    own = [r for r in cache.all_results if r.recipe_hash in kinds and _suits(r.pack, table)]
    found: dict[tuple[str, float, tuple[tuple[str, str], ...]], tuple[Data, int]] = {}
    for result in own:
        same_data = [r for r in own if r.fingerprint == result.fingerprint and r.share == result.share]
        features = {**_common_features(same_data, kinds), kinds[result.recipe_hash]: result.features or ""}
        features = {kind: name for kind, name in features.items() if name}
        identity = (result.fingerprint, result.share, tuple(sorted(features.items())))
        data, count = found.get(identity, (Data(result.pack, result.fingerprint, features, result.share), 0))
        found[identity] = (data, count + 1)
    return [data for data, _ in sorted(found.values(), key=lambda pair: (-pair[0].share, -pair[1]))]


def _suits(pack: str, table: Table) -> bool:
    """Whether one of the table's pack names is part of the pack's; what follows "with" names captions, not images."""
    own = pack.split(" with ")[0]
    return not table.pack_names or any(name in own for name in table.pack_names)


def _common_features(results: list[Result], kinds: dict[str, str]) -> dict[str, str]:
    """For each kind, the features that most of these results were made with."""
    counts: dict[str, dict[str, int]] = {}
    for result in results:
        names = counts.setdefault(kinds[result.recipe_hash], {})
        names[result.features or ""] = names.get(result.features or "", 0) + 1
    return {kind: max(sorted(names), key=lambda name: names[name]) for kind, names in counts.items()}


def _draw(filled: Filled, folder: Path, number: int) -> str:
    drawn = draw_svg(filled)
    if not drawn:
        return ""
    name = f"figures/{filled.table.name.replace('/', '-')}{f'-{number + 1}' if number else ''}.svg"
    write_text(folder / name, drawn)
    return name
