"""A recipe, trained on a pack into a run folder."""

from __future__ import annotations

import copy
import os
import random
import shutil
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from tellapart.core.checksums import write_checksums
from tellapart.core.device import usable_device
from tellapart.core.distributed import barrier, from_main, group, join_group, local_rank
from tellapart.core.errors import InputError
from tellapart.core.model_names import is_hub
from tellapart.core.only_writer import only_writer
from tellapart.core.progress import Progress
from tellapart.data.feature_choice import choose_features
from tellapart.data.open_packs import open_pack
from tellapart.data.own_text import with_own_text
from tellapart.models.layers.lora import add_lora, merge_lora
from tellapart.runs.adapters import save_adapters
from tellapart.runs.context import ContextBuilder, PixelSettings
from tellapart.runs.hub_recipe import own_reading, with_hub_model, with_own_pixels, with_tuned_model
from tellapart.runs.on_pixels import resolved
from tellapart.runs.overrides import override
from tellapart.runs.recipe import Recipe
from tellapart.runs.run import (
    Run,
    best_path,
    describe_run,
    forget_run,
    load_weights,
    open_run,
    save_weights,
    seen_facts,
    stage_path,
    with_described_model,
)
from tellapart.training.checkpoints import Position
from tellapart.training.checks import check_features, check_pixels, check_recipe
from tellapart.training.dry_run import dry_run
from tellapart.training.initial_model import initial_model
from tellapart.training.log import Log
from tellapart.training.loop import train_stage
from tellapart.training.objective_state import load_objective_state, objective_state_saver
from tellapart.training.resume import check_folder, find_resume_point, is_finished
from tellapart.training.reuse import check_base, copy_stages
from tellapart.training.runtime import StageRuntime
from tellapart.training.settings import TrainSettings
from tellapart.training.sharding import check_sharding
from tellapart.training.stage_dependencies import chosen_stages, finished_stages, unneeded_stages
from tellapart.training.start_from_run import check_start, named_start, started_from
from tellapart.training.trackers import check_trackers, open_trackers
from tellapart.training.validation import earlier_losses, validating_stages

START = "start"
"""As a reference: the model as the stage begins."""
REPLAYED_WIDTH = 2
"""Captions are padded to a multiple of this many tokens where steps are replayed: few widths, few recordings."""


def train_recipe(recipe: Recipe, settings: TrainSettings, progress: Progress | None = None) -> Run:
    """Train the stages of a recipe that are not finished yet; returns the finished run.

    An InputError before anything is learned leaves no run folder behind. One process, or one group of processes, trains
    in a folder at a time.
    """
    is_main = os.environ.get("RANK", "0") == "0"
    with only_writer(settings.out, "training in") if is_main else nullcontext():
        began = not (settings.out / "recipe.json").is_file()
        try:
            return _train(recipe, settings, progress or Progress(enabled=False))
        except InputError:
            if began:
                forget_run(settings.out)
            raise


@dataclass(frozen=True)
class _Plan:
    """A checked recipe and what it is trained with."""

    recipe: Recipe
    chosen: frozenset[str]
    """Names of the stages to train."""
    settings: TrainSettings
    builder: ContextBuilder

    @property
    def left(self) -> frozenset[str]:
        """The chosen stages that are not finished yet."""
        folders = [folder for folder in (self.settings.out, self.settings.base) if folder is not None]
        return self.chosen.difference(*(finished_stages(self.recipe, folder) for folder in folders))

    @property
    def small_builder(self) -> ContextBuilder:
        """For contexts that read few rows: their features need not be on the device a second time."""
        return replace(self.builder, resident=False)


def _train(recipe: Recipe, settings: TrainSettings, progress: Progress) -> Run:
    us = join_group(settings.device)
    device = usable_device(f"cuda:{local_rank()}" if us.world > 1 and settings.device == "cuda" else settings.device)
    plan = _checked(recipe, settings, device)
    if settings.resume and is_finished(plan.recipe, plan.chosen, settings.out):
        return open_run(settings.out, device=device)
    if len(plan.left) > 1:  # the only stage fails at once anyway
        dry_run(plan.recipe, plan.chosen, plan.left, replace(plan.small_builder, models={}))
    barrier()  # every process has read the folder before it changes
    progress = progress if us.is_main else Progress(enabled=False)
    position, checkpoint, log = _begin(plan, progress)
    for index, stage in enumerate(plan.recipe.stages):
        if stage.name not in plan.chosen:
            continue
        resumed = checkpoint if index == position.stage else None
        own = position
        if resumed is None:
            # Each stage has its own seed, so that a resumed run draws the same numbers as an uninterrupted one.
            _seed_everything(plan.recipe.seed, index)
            own = Position(stage=index, total=position.total)
        model = _stage_model(plan, index, own, resumed, _Outputs(log, progress))
        position.total = own.total
        # A copy: later stages train the model further, and a frozen reference must not change with it.
        plan.builder.models[stage.name] = plan.builder.models["previous"] = copy.deepcopy(model).eval()
    if us.is_main:
        save_weights(plan.builder.models["previous"], settings.out / "model.safetensors")
        shutil.rmtree(settings.out / "checkpoints", ignore_errors=True)
    if log:
        log.close()
    if us.is_main:
        write_checksums(settings.out)
    barrier()
    return open_run(settings.out, device=device)


@dataclass(frozen=True)
class _Outputs:
    log: Log | None
    progress: Progress


def _stage_model(plan: _Plan, index: int, position: Position, checkpoint: Path | None, outputs: _Outputs) -> nn.Module:
    """The model that a stage ends with: read where the stage is finished, trained where it is not."""
    stage, out = plan.recipe.stages[index], plan.settings.out
    weights, best = stage_path(out, stage.name), best_path(out, stage.name)
    context = plan.builder.context(stage.sampling)
    model = initial_model(stage, context, outputs.progress)
    if weights.is_file():
        load_weights(model, weights)
        best.unlink(missing_ok=True)  # left behind where training was killed just before removing it
        return model
    if stage.lora is not None:
        add_lora(model, stage.lora)
        model.to(context.device)
    if getattr(stage.objective, "reference", "") == START:
        plan.builder.models[START] = copy.deepcopy(model).eval()
    model = train_stage(stage, model, context, _runtime(plan, index, model, outputs), position, checkpoint)
    barrier()  # every process has read the best weights before they are removed
    if group().is_main and stage.lora is not None:
        save_adapters(model, stage.lora, out / "adapters" / stage.name, stage)
    merge_lora(model)
    if group().is_main:
        save_weights(model, weights)
        best.unlink(missing_ok=True)
    barrier()
    return model


def _checked(recipe: Recipe, settings: TrainSettings, device: torch.device) -> _Plan:
    """The recipe with its overrides, checked as far as possible before the run folder is made."""
    check_trackers(settings.trackers)
    pack = open_pack(settings.data)
    recipe = override(recipe, settings.set)
    chosen = chosen_stages(recipe, settings.stages)
    if is_hub(settings.start):
        recipe = with_hub_model(recipe, settings.start, chosen)
    elif settings.start:
        settings = replace(settings, start=named_start(settings.start, recipe))
        recipe = with_tuned_model(started_from(recipe, settings.start, chosen), settings.start)
    recipe = with_own_pixels(resolved(with_described_model(recipe)))
    reading = own_reading(recipe)
    if reading is not None:
        pack = with_own_text(pack, reading.vocabulary)
    check_recipe(recipe, pack)
    store = choose_features(pack, recipe.features, settings.features)
    if store is not None:
        check_features(recipe, pack, store)
    check_pixels(recipe, pack)
    if settings.start and not is_hub(settings.start):
        check_start(settings.start, pack, store, sees_pixels=any(stage.sampling.pixels for stage in recipe.stages))
    if settings.shard:
        check_sharding(recipe, chosen, settings.compile)
    check_folder(recipe, settings.out, settings.resume)
    if settings.base is not None:
        check_base(settings.base, recipe)
    width_multiple = REPLAYED_WIDTH if settings.replay and device.type == "cuda" else 1
    seen = next((facts for stage in recipe.stages if stage.model and (facts := seen_facts(stage))), None)
    builder = ContextBuilder(
        pack,
        store,
        device,
        settings.resident,
        width_multiple,
        seen=seen if store is None else None,
        pixels=PixelSettings(settings.pixels, _processes(settings, device)),
        processor=None if reading is None else reading.processor,
    )
    return _Plan(recipe, chosen, settings, builder)


def _processes(settings: TrainSettings, device: torch.device) -> int:
    if settings.workers is not None and settings.workers < 0:
        raise InputError(f"`workers` cannot be negative, but it is {settings.workers}.")
    default = len(os.sched_getaffinity(0)) if device.type == "cuda" and hasattr(os, "sched_getaffinity") else 0
    return default if settings.workers is None else settings.workers


def _begin(plan: _Plan, progress: Progress) -> tuple[Position, Path | None, Log | None]:
    """Describe the run folder, find where to resume, and open the log, in the main process; all learn the position."""
    begun: dict[str, Any] = {}
    log, settings, store = None, plan.settings, plan.builder.store
    if group().is_main:
        advice = unneeded_stages(plan.recipe)
        if advice and not (settings.stages or settings.start):
            progress.line(advice)
        describe_run(settings.out, plan.recipe, plan.builder.pack, store)
        if settings.base is not None:
            copy_stages(settings.base, plan.recipe, settings.out)
        found = find_resume_point(plan.recipe, plan.chosen, settings.out)
        begun = {"position": vars(found.position), "checkpoint": str(found.checkpoint or "")}
        facts = {"recipe": plan.recipe.name, "seed": plan.recipe.seed, "data": str(settings.data), **_changes(settings)}
        log = Log(settings.out / "log.jsonl", found.rows, open_trackers(settings.trackers, settings.out, facts))
    begun = from_main(begun)
    return Position(**begun["position"]), Path(begun["checkpoint"]) if begun["checkpoint"] else None, log


def _changes(settings: TrainSettings) -> dict[str, str]:
    """What `set` changes, by field."""
    return {name: value for name, _, value in (change.partition("=") for change in settings.set)}


def _runtime(plan: _Plan, index: int, model: nn.Module, outputs: _Outputs) -> StageRuntime:
    recipe, settings = plan.recipe, plan.settings
    stage = recipe.stages[index]
    best = best_path(settings.out, stage.name)
    earlier = [(other, plan.small_builder.context(other.sampling)) for other in validating_stages(recipe, index)]
    return StageRuntime(
        recipe.seed,
        settings.out / "checkpoints",
        outputs.log,
        outputs.progress,
        save_best=partial(save_weights, path=best),
        load_best=partial(load_weights, path=best),
        save_every=settings.save_every,
        replay=settings.replay,
        compile=settings.compile,
        shard=settings.shard,
        objective_state=load_objective_state(recipe, index, settings.out),
        save_objective=objective_state_saver(stage, settings.out),
        earlier=earlier_losses(earlier, model, next(model.parameters()).device),
    )


def _seed_everything(seed: int, stage: int) -> None:
    random.seed(seed * 1000 + stage)
    np.random.seed((seed * 1000 + stage) % 2**32)
    torch.manual_seed(seed * 1000 + stage)
