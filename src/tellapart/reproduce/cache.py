"""Results by the hash of what made them: recipe, seed, pack and features.

CACHE/
  results/KEY/result.json      figures by measure, the recipe, the data, how long it took and on what
  results/KEY/MEASURE.npz      what each image adds, where the measure gives it
  results/KEY/log.jsonl        the training log
  runs/KEY/                    the run folder itself, where it is kept
  runs/KEY/passing             says that it is not: it goes when all that needs it is done
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, read_json, write_json
from tellapart.reproduce.measured import Measured
from tellapart.runs.recipe import DESCRIPTION, Recipe
from tellapart.runs.registry import to_plain

UNIMPORTANT = (*DESCRIPTION, "seed")
"""Fields of a recipe that its hash leaves out; the seed is kept beside."""


def recipe_hash(recipe: Recipe) -> str:
    """The same for recipes that train alike, whatever they are called and whatever their seed."""
    if not recipe.stages:
        # Nothing is learned: the name is all there is.
        return _hash(recipe.name)
    plain = {name: value for name, value in to_plain(recipe, first_names=True).items() if name not in UNIMPORTANT}
    return _hash(plain)


def job_key(recipe: Recipe, fingerprint: str, features: str | None) -> str:
    """A result's name in the cache."""
    return _hash([recipe_hash(recipe), recipe.seed, fingerprint, features])


def _hash(plain: Any) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Result:
    """What one run of one row gave."""

    key: str
    recipe_hash: str
    """Of the recipe before any shortening."""
    recipe: dict[str, Any]
    seed: int
    fingerprint: str
    pack: str
    features: str | None
    share: float
    """Share of the recipe's epochs it was trained for; 1 is all of them."""
    split: str
    seconds: float
    device: str
    figures: dict[str, dict[str, float]] = field(default_factory=dict)
    """By measure."""


class Cache:
    def __init__(self, folder: Path | str, scratch: Path | str | None = None) -> None:
        """`scratch` holds run folders instead of CACHE/runs: a memory disk, say."""
        self.folder = Path(folder)
        self.runs = Path(scratch) if scratch else self.folder / "runs"

    def run_folder(self, key: str) -> Path:
        return self.runs / key

    def has_run(self, key: str) -> bool:
        return (self.run_folder(key) / "model.safetensors").is_file()

    def result(self, key: str) -> Result | None:
        path = self.folder / "results" / key / "result.json"
        return Result(**read_json(path)) if path.is_file() else None

    def has(self, key: str, measures: tuple[str, ...]) -> bool:
        result = self.result(key)
        return result is not None and all(name in result.figures for name in measures)

    @cached_property
    def all_results(self) -> list[Result]:
        """Every result in the cache, as of the first time this is asked."""
        return self.fresh_results()

    def fresh_results(self) -> list[Result]:
        """Every result in the cache, as of now."""
        return [Result(**read_json(path)) for path in sorted(self.folder.glob("results/*/result.json"))]

    def items(self, key: str, measure: str) -> dict[str, np.ndarray]:
        return _arrays(self.folder / "results" / key / f"{measure}.npz")

    def log_path(self, key: str) -> Path:
        return self.folder / "results" / key / "log.jsonl"

    def store(self, result: Result, measured: dict[str, Measured], log: Path) -> None:
        """Write a result whole; measures it held before stay."""
        before = self.result(result.key)
        figures = {**(before.figures if before else {}), **{name: m.figures for name, m in measured.items()}}
        items = {name: self.items(result.key, name) for name in figures}
        items.update({name: m.items for name, m in measured.items()})
        with atomic_folder(self.folder / "results" / result.key) as partial:
            for name, arrays in items.items():
                if arrays:
                    np.savez_compressed(partial / f"{name}.npz", **arrays)  # type: ignore[arg-type]
            if log.is_file():
                shutil.copyfile(log, partial / "log.jsonl")
            write_json(partial / "result.json", asdict(result) | {"figures": figures})

    def note_passing(self, key: str) -> None:
        """Say that a run about to be made, or gone on with, is not kept. One that is whole stays what it was."""
        if not self.has_run(key):
            self.run_folder(key).mkdir(parents=True, exist_ok=True)
            self._passing(key).touch()

    def keep_run(self, key: str) -> None:
        self._passing(key).unlink(missing_ok=True)

    def drop_run(self, key: str) -> None:
        """Remove a run, unless it is kept."""
        if self._passing(key).is_file():
            shutil.rmtree(self.run_folder(key), ignore_errors=True)

    def _passing(self, key: str) -> Path:
        return self.run_folder(key) / "passing"

    def add_results(self, other: Path) -> int:
        """Take over the results of a cache made elsewhere, and what it has measured of those we have; gives how many
        were new or have more to say."""
        found = sorted(other.glob("results/*/result.json")) or sorted(other.glob("*/result.json"))
        if not found:
            raise InputError(f"{other} is neither a run folder nor a cache with results; there is nothing to add.")
        return sum(self._take_over(path.parent) for path in found)

    def _take_over(self, folder: Path) -> bool:
        """One result, or its measures that ours lacks."""
        own, theirs = self.result(folder.name), Result(**read_json(folder / "result.json"))
        missing = [name for name in theirs.figures if own is None or name not in own.figures]
        if own is None:
            with atomic_folder(self.folder / "results" / folder.name) as partial:
                shutil.copytree(folder, partial, dirs_exist_ok=True)
        elif missing:
            measured = {name: Measured(theirs.figures[name], _arrays(folder / f"{name}.npz")) for name in missing}
            self.store(own, measured, self.log_path(own.key))
        return bool(missing)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        return {}
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
