"""Results by the hash of what made them: recipe, seed, pack and features.

CACHE/
  results/KEY/result.json      values by measure, the recipe, the data, how long it took and on which device
  results/KEY/MEASURE.npz      a value per image, for measures that have it
  results/KEY/log.jsonl        the training log: losses, multipliers and metrics of all epochs, and of some steps
  runs/KEY/                    the run folder, where it is kept
  runs/KEY/passing             marks a temporary run folder: it is removed when no job needs it any more
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, read_json, write_json, write_text
from tellapart.reproduce.compact_log import compact_log
from tellapart.reproduce.measurement import Measurement
from tellapart.runs.recipe import DESCRIPTION, Recipe
from tellapart.runs.registry import to_plain
from tellapart.training.log import read_log

UNIMPORTANT = (*DESCRIPTION, "seed")
"""Fields of a recipe that its hash ignores; the seed is stored separately."""


def recipe_hash(recipe: Recipe) -> str:
    """A hash that is the same for recipes that train the same, whatever their name and seed."""
    if not recipe.stages:
        # Nothing is trained: only the name differs.
        return _hash(recipe.name)
    plain = {name: value for name, value in to_plain(recipe, first_names=True).items() if name not in UNIMPORTANT}
    return _hash(plain)


def job_key(recipe: Recipe, fingerprint: str, features: str | None) -> str:
    """The name of a result in the cache."""
    return _hash([recipe_hash(recipe), recipe.seed, fingerprint, features])


def _hash(plain: Any) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Result:
    """The values of one run of one row."""

    key: str
    recipe_hash: str
    """Of the recipe before it was shortened."""
    recipe: dict[str, Any]
    seed: int
    fingerprint: str
    pack: str
    features: str | None
    share: float
    """Share of the recipe's epochs that were trained; 1 is all of them."""
    split: str
    seconds: float
    device: str
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    """By measure and metric."""

    @classmethod
    def read(cls, path: Path) -> Result:
        """A stored result; its values have the key `figures`."""
        stored = read_json(path)
        return cls(**{"values" if name == "figures" else name: value for name, value in stored.items()})

    def write(self, path: Path) -> None:
        """Store the result."""
        write_json(path, {"figures" if name == "values" else name: value for name, value in asdict(self).items()})


class Cache:
    """A folder of results and run folders."""

    def __init__(self, folder: Path | str, scratch: Path | str | None = None) -> None:
        """scratch: folder for run folders instead of CACHE/runs, such as a RAM disk."""
        self.folder = Path(folder)
        self.runs = Path(scratch) if scratch else self.folder / "runs"

    def run_folder(self, key: str) -> Path:
        """Where the run of a job is, or will be."""
        return self.runs / key

    def has_run(self, key: str) -> bool:
        """Whether the finished run of a job is here."""
        return (self.run_folder(key) / "model.safetensors").is_file()

    def result(self, key: str) -> Result | None:
        """The result of a job, if it is here."""
        path = self.folder / "results" / key / "result.json"
        return Result.read(path) if path.is_file() else None

    def has(self, key: str, measures: tuple[str, ...]) -> bool:
        """Whether a job has been measured by all of these."""
        result = self.result(key)
        return result is not None and all(name in result.values for name in measures)

    @cached_property
    def all_results(self) -> list[Result]:
        """Every result in the cache, read once."""
        return self.fresh_results()

    def fresh_results(self) -> list[Result]:
        """Every result in the cache, read again."""
        return [Result.read(path) for path in sorted(self.folder.glob("results/*/result.json"))]

    def items(self, key: str, measure: str) -> dict[str, np.ndarray]:
        """The arrays that a measure stored; empty if it has none."""
        return _arrays(self.items_path(key, measure))

    def items_path(self, key: str, measure: str) -> Path:
        """Where the arrays of a measure are, if it has some."""
        return self.folder / "results" / key / f"{measure}.npz"

    def log_path(self, key: str) -> Path:
        """Where the training log of a result is."""
        return self.folder / "results" / key / "log.jsonl"

    def store(self, result: Result, measured: dict[str, Measurement], log: Path) -> None:
        """Write a result; values of other measures that it had before stay."""
        before = self.result(result.key)
        values = {**(before.values if before else {}), **{name: m.values for name, m in measured.items()}}
        items = {name: self.items(result.key, name) for name in values}
        items.update({name: m.items for name, m in measured.items()})
        with atomic_folder(self.folder / "results" / result.key) as partial:
            for name, arrays in items.items():
                if arrays:
                    np.savez_compressed(partial / f"{name}.npz", **arrays)  # type: ignore[arg-type]
            if log.is_file():
                write_text(partial / "log.jsonl", compact_log(read_log(log)))
            replace(result, values=values).write(partial / "result.json")

    def mark_temporary(self, key: str) -> None:
        """Mark a run that is about to be made or resumed as temporary. A finished run stays what it is."""
        if not self.has_run(key):
            self.run_folder(key).mkdir(parents=True, exist_ok=True)
            self._marker(key).touch()

    def keep_run(self, key: str) -> None:
        """Keep a run that was marked as temporary."""
        self._marker(key).unlink(missing_ok=True)

    def drop_run(self, key: str) -> None:
        """Remove a run if it is temporary."""
        if self._marker(key).is_file():
            shutil.rmtree(self.run_folder(key), ignore_errors=True)

    def _marker(self, key: str) -> Path:
        return self.run_folder(key) / "passing"

    def add_results(self, other: Path) -> int:
        """Copy the results of another cache, and its measures of results that are here; returns how many results are
        new or have new measures."""
        found = sorted(other.glob("results/*/result.json")) or sorted(other.glob("*/result.json"))
        if not found:
            raise InputError(f"{other} is neither a run folder nor a cache with results, so there is nothing to add.")
        return sum(self._copy_result(path.parent) for path in found)

    def _copy_result(self, folder: Path) -> bool:
        """Copy a result, or the measures that ours does not have; returns whether there were any."""
        own, theirs = self.result(folder.name), Result.read(folder / "result.json")
        missing = [name for name in theirs.values if own is None or name not in own.values]
        if own is None:
            with atomic_folder(self.folder / "results" / folder.name) as partial:
                shutil.copytree(folder, partial, dirs_exist_ok=True)
        elif missing:
            measured = {name: Measurement(theirs.values[name], _arrays(folder / f"{name}.npz")) for name in missing}
            self.store(own, measured, self.log_path(own.key))
        return bool(missing)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        return {}
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
