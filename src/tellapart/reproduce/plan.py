"""From tables to jobs: every row with every seed, each distinct run once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache as cache_calls
from functools import partial

from tellapart.core.errors import InputError
from tellapart.data.feature_choice import choose_features
from tellapart.data.feature_store import FeatureStore, mirror_of
from tellapart.data.pack import Pack
from tellapart.data.sampling import captioned, steps_per_epoch
from tellapart.reproduce.cache import job_key
from tellapart.reproduce.derived_measures import DERIVED
from tellapart.reproduce.jobs import Job, Plan
from tellapart.reproduce.measurement import SPLIT
from tellapart.reproduce.row_recipes import row_hash, row_recipe
from tellapart.reproduce.settings import ReproduceSettings
from tellapart.reproduce.shared_stages import with_shared_stages
from tellapart.reproduce.table import Table
from tellapart.runs.recipe import Recipe


def run_measures(table: Table) -> tuple[str, ...]:
    """What must be measured with a row's model."""
    measures = (column.measure for column in table.columns)
    return tuple(dict.fromkeys(DERIVED[name].source if name in DERIVED else name for name in measures))


def plan(tables: Sequence[Table], settings: ReproduceSettings) -> Plan:
    """All jobs that the tables need, including cached ones. Raises if the pack has no captions to test on."""
    pack = Pack(settings.data)
    captioned(pack, SPLIT)
    jobs: dict[str, Job] = {}
    skipped: dict[str, str] = {}
    rows: dict[tuple[str, str], tuple[str, ...]] = {}
    steps_of = cache_calls(partial(steps_per_epoch, pack))
    for table in tables:
        measures = run_measures(table)
        for row in table.rows:
            for seed in range(settings.seeds or table.seeds):
                try:
                    recipe = row_recipe(row, seed, settings.share, pack)
                    store = choose_features(pack, recipe.features, candidates=settings.features)
                    _check_columns(pack, recipe)
                    _check_mirror_features(recipe, store)
                    steps = tuple(stage.epochs * steps_of(stage.sampling) for stage in recipe.stages)
                except InputError as error:
                    skipped[f"{table.name}: {row.name}"] = str(error)
                    break
                name = None if store is None else store.name
                key = job_key(recipe, pack.fingerprint, name)
                rows[table.name, row.name] = (*rows.get((table.name, row.name), ()), key)
                label = f"{table.name}: {row.name}, seed {seed}"
                if key in jobs:
                    label, measures_so_far = jobs[key].label, jobs[key].measures
                else:
                    measures_so_far = ()
                union = tuple(dict.fromkeys((*measures_so_far, *measures)))
                jobs[key] = Job(
                    label, recipe, row_hash(row), name, key, measures=union, share=settings.share, steps=steps
                )
    every = tuple(with_shared_stages(jobs, pack, settings.open_cache()).values())
    return Plan(every, skipped, rows, tuple(tables))


def _check_columns(pack: Pack, recipe: Recipe) -> None:
    for stage in recipe.stages:
        for name in stage.sampling.columns:
            if not pack.has_column(name):
                raise InputError(f"{pack.folder} has no column '{name}'; annotate the pack first.")


def _check_mirror_features(recipe: Recipe, store: FeatureStore | None) -> None:
    if store is not None and any(stage.sampling.flip for stage in recipe.stages):
        mirror_of(store)
