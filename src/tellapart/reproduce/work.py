"""One job: train (or take the finished run), measure, and put the result into the cache."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from tellapart.core.errors import InputError
from tellapart.core.files import read_json, write_json
from tellapart.data.pack import Pack
from tellapart.reproduce.cache import Cache, Result, job_key, recipe_hash
from tellapart.reproduce.caption_measures import measure_untrained
from tellapart.reproduce.jobs import Job
from tellapart.reproduce.measured import SPLIT, Measured
from tellapart.reproduce.measures import MEASURES, SECONDS
from tellapart.runs.registry import to_plain
from tellapart.runs.run import Run, open_run, read_recipe
from tellapart.training.train import TrainSettings, train_recipe


@dataclass(frozen=True)
class Bench:
    """Where jobs are done, and with what."""

    data: Path
    cache: Path
    scratch: Path | None = None
    """Run folders lie here instead of in the cache."""
    resident: bool = False
    replay: bool = False
    """Replay recorded steps, as `tellapart train --replay` does."""
    keep: bool = False
    """Keep run folders, weights and all, after they are measured. Those that an earlier call kept stay anyway."""

    def open_cache(self) -> Cache:
        return Cache(self.cache, self.scratch)


def do_job(job: Job, bench: Bench, device: str) -> float:
    """Gives the seconds it took. A run that was interrupted goes on where it stopped."""
    started = time.monotonic()
    cache = bench.open_cache()
    if not job.recipe.stages:
        found = measure_untrained(job.recipe.name, Pack(bench.data), SPLIT, job.measures)
        _keep(job, bench, found, device, time.monotonic() - started, Path())
        return time.monotonic() - started
    if not bench.keep:
        cache.note_passing(job.key)
    base = cache.run_folder(job.base) if job.base is not None and cache.has_run(job.base) else None
    settings = TrainSettings(
        data=bench.data,
        out=cache.run_folder(job.key),
        features=job.features,
        resume=True,
        stages=tuple(sorted(job.stages)),
        base=base,
        device=device,
        resident=bench.resident,
        replay=bench.replay,
        quiet=True,
    )
    run = train_recipe(job.recipe, settings)
    if job.trained:
        _note_seconds(run.folder, base, time.monotonic() - started)
    if job.measures:
        _measure(run, job, bench, device, started)
    if not bench.keep and not job.needed_later:
        cache.drop_run(job.key)
    return time.monotonic() - started


def _note_seconds(folder: Path, base: Path | None, spent: float) -> None:
    """Beside what was noted of the run's own stages before, or else of those taken over."""
    noted = next((path for path in (folder, base) if path and (path / SECONDS).is_file()), None)
    before = read_json(noted / SECONDS)["training"] if noted else 0.0
    write_json(folder / SECONDS, {"training": round(before + spent, 2)})


def _measure(run: Run, job: Job, bench: Bench, device: str, started: float) -> None:
    pack = Pack(bench.data)
    held = bench.open_cache().result(job.key)
    missing = [name for name in job.measures if held is None or name not in held.figures]
    if held is not None and not missing:
        return
    measured = {name: MEASURES[name](run, pack, SPLIT, device) for name in missing}
    spent = held.seconds if held else time.monotonic() - started
    _keep(job, bench, measured, device, spent, run.folder / "log.jsonl")


def _keep(job: Job, bench: Bench, measured: dict[str, Measured], device: str, seconds: float, log: Path) -> None:
    pack = Pack(bench.data)
    result = Result(
        key=job.key,
        recipe_hash=job.recipe_hash,
        recipe=to_plain(job.recipe),
        seed=job.recipe.seed,
        fingerprint=pack.fingerprint,
        pack=str(pack.manifest["name"]),
        features=job.features,
        share=job.share,
        split=SPLIT,
        seconds=round(seconds, 1),
        device=hardware(device),
    )
    bench.open_cache().store(result, measured, log)


def hardware(device: str) -> str:
    """The device's name, and whether its matrix products round to TF32: a reader may want to know."""
    if not device.startswith("cuda"):
        return "cpu"
    rounded = os.environ.get("NVIDIA_TF32_OVERRIDE") == "1" or torch.backends.cuda.matmul.allow_tf32
    return torch.cuda.get_device_name(device) + (", TF32" if rounded else "")


def add_run(folder: Path, bench: Bench, measures: tuple[str, ...], device: str = "cpu") -> str:
    """Measure a run made anywhere by `tellapart train` and put it into the cache; gives its key."""
    run, pack = open_run(folder, device=device), Pack(bench.data)
    if run.data["fingerprint"] != pack.fingerprint:
        raise InputError(
            f"{folder} was trained on the pack '{run.data['pack']}' ({run.data['fingerprint']}), not on {pack.folder} "
            f"({pack.fingerprint}); give the pack it was trained on."
        )
    features = run.data["features"]["name"] if run.data["features"] else None
    recipe = read_recipe(folder)
    key = job_key(recipe, pack.fingerprint, features)
    job = Job(f"added from {folder.name}", recipe, recipe_hash(recipe), features, key, measures)
    _measure(run, job, bench, device, time.monotonic())
    return key
