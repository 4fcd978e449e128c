"""One job: train it or take the finished run, measure, and put the result into the cache."""

from __future__ import annotations

import os
import time
from pathlib import Path

import torch

from tellapart.core.errors import InputError
from tellapart.core.files import read_json, write_json
from tellapart.data.open_packs import open_pack
from tellapart.reproduce.cache import Result, job_key, recipe_hash
from tellapart.reproduce.caption_measures import measure_untrained
from tellapart.reproduce.jobs import Job
from tellapart.reproduce.measurement import SPLIT
from tellapart.reproduce.measures import MEASURES, SECONDS
from tellapart.reproduce.settings import ReproduceSettings
from tellapart.runs.registry import to_plain
from tellapart.runs.run import Run, open_run, read_recipe
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe


def run_job(job: Job, settings: ReproduceSettings, device: str) -> float:
    """Train and measure a job, resuming it where it was interrupted; returns the seconds it took."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = before or settings.tf32
    try:
        return _run_job(job, settings, device)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _run_job(job: Job, settings: ReproduceSettings, device: str) -> float:
    started = time.monotonic()
    cache = settings.open_cache()
    if not job.recipe.stages:
        found = measure_untrained(job.recipe.name, open_pack(settings.data), SPLIT, job.measures)
        cache.store(_result(job, settings, device, time.monotonic() - started), found, Path())
        return time.monotonic() - started
    if not settings.keep:
        cache.mark_temporary(job.key)
    base = cache.run_folder(job.base) if job.base is not None and cache.has_run(job.base) else None
    train_settings = TrainSettings(
        data=settings.data,
        out=cache.run_folder(job.key),
        features=job.features,
        resume=True,
        stages=tuple(sorted(job.stages)),
        base=base,
        device=device,
        resident=settings.resident,
        replay=settings.replay,
        compile=settings.compile,
        pixels=settings.pixels,
    )
    run = train_recipe(job.recipe, train_settings)
    if job.trained:
        _add_seconds(run.folder, base, time.monotonic() - started)
    if job.measures:
        _measure(run, job, settings, device, started)
    if not settings.keep and not job.needed_later:
        cache.drop_run(job.key)
    return time.monotonic() - started


def _add_seconds(folder: Path, base: Path | None, spent: float) -> None:
    """Add to the training time noted in the run folder, or else in the base."""
    noted = next((path for path in (folder, base) if path and (path / SECONDS).is_file()), None)
    before = read_json(noted / SECONDS)["training"] if noted else 0.0
    write_json(folder / SECONDS, {"training": round(before + spent, 2)})


def _measure(run: Run, job: Job, settings: ReproduceSettings, device: str, started: float) -> None:
    pack = open_pack(settings.data)
    known = settings.open_cache().result(job.key)
    missing = [name for name in job.measures if known is None or name not in known.values]
    if known is not None and not missing:
        return
    measured = {name: MEASURES[name](run, pack, SPLIT, device) for name in missing}
    seconds = known.seconds if known else time.monotonic() - started
    settings.open_cache().store(_result(job, settings, device, seconds), measured, run.folder / "log.jsonl")


def _result(job: Job, settings: ReproduceSettings, device: str, seconds: float) -> Result:
    pack = open_pack(settings.data)
    return Result(
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


def hardware(device: str) -> str:
    """The name of a device, and whether its matrix products round to TF32."""
    if not device.startswith("cuda"):
        return "cpu"
    rounded = os.environ.get("NVIDIA_TF32_OVERRIDE") == "1" or torch.backends.cuda.matmul.allow_tf32
    return torch.cuda.get_device_name(device) + (", TF32" if rounded else "")


def add_run(folder: Path, settings: ReproduceSettings, measures: tuple[str, ...]) -> str:
    """Measure a trained run and put it into the cache; returns its key."""
    device = settings.devices[0]
    run, pack = open_run(folder, device=device), open_pack(settings.data)
    if run.data["fingerprint"] != pack.fingerprint:
        raise InputError(
            f"{folder} was trained on the pack '{run.data['pack']}' ({run.data['fingerprint']}), not on {pack.folder} "
            f"({pack.fingerprint}); set `data` to the pack that it was trained on."
        )
    features = run.data["features"]["name"] if run.data["features"] else None
    recipe = read_recipe(folder)
    key = job_key(recipe, pack.fingerprint, features)
    job = Job(f"added from {folder.name}", recipe, recipe_hash(recipe), features, key, measures)
    _measure(run, job, settings, device, time.monotonic())
    return key
