"""`tellapart train`: a recipe, a pack, a run folder."""

from __future__ import annotations

import copy
import random
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from tellapart.core.device import usable_device
from tellapart.core.distributed import barrier, from_main, group, join_group
from tellapart.core.progress import Progress
from tellapart.data.batches import Batches
from tellapart.data.feature_choice import choose_features
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.objectives.context import Context
from tellapart.runs.recipe import Recipe, Stage
from tellapart.runs.overrides import override
from tellapart.runs.run import (
    Run,
    best_path,
    describe_run,
    inputs_for,
    load_weights,
    open_run,
    save_weights,
    stage_path,
    with_described_model,
)
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.base import check_base, take_over
from tellapart.training.carried import carried_objective, objective_saver
from tellapart.training.checkpoints import Position
from tellapart.training.checks import check_features, check_recipe
from tellapart.training.judging import earlier_losses, judges
from tellapart.training.log import Log
from tellapart.training.loop import StageRuntime, train_stage
from tellapart.training.needed_stages import chosen_stages, finished_stages, idle_stages
from tellapart.training.rehearsal import rehearse
from tellapart.training.resuming import check_folder, is_whole, look_at
from tellapart.training.start import check_start, started_from
from tellapart.training.starting_model import starting_model

REPLAYED_WIDTH = 4
"""Sentences are padded to a multiple of so many tokens where steps are replayed: few widths, few recordings."""


@dataclass(frozen=True)
class TrainSettings:
    """Where and how a recipe is trained; what is learned is the recipe's business."""

    data: Path
    """The pack to learn from."""
    out: Path
    """The run folder to write."""
    features: str | None = None
    """Name of the pack's features; left out, the only ones of the kind the recipe wants."""
    set: tuple[str, ...] = ()
    """Fields of the recipe to change: seed=7, or STAGE.FIELD=VALUE such as base.epochs=3, base.optimiser.lr=1e-4."""
    resume: bool = False
    """Go on where an interrupted run of the same recipe stopped, or train stages that a finished one left out."""
    start: str = ""
    """A finished run whose weights the first stage starts from, bundled:captioner or bundled:matcher among them. The
    pack must have its words (`prepare --vocabulary-from RUN`) and its features (`extract --like RUN`)."""
    stages: tuple[str, ...] = ()
    """Names of the stages to train; all if none is named. The last one, and what they rest on, must be among them;
    leaving out others changes nothing of the model."""
    base: Path | None = None
    """A finished run whose stages are this recipe's first ones: they are taken over instead of trained again."""
    device: str = "cpu"
    """cpu, cuda, cuda:1, …"""
    resident: bool = False
    """Keep all features on the device: fastest where they fit."""
    replay: bool = False
    """Record training steps as CUDA graphs and replay them, for models so small that a GPU waits for Python. Stages
    whose objective asks for numbers at every step (rewards, adversaries), sgd, float16, `accumulate` and several
    processes train as usual."""
    tensorboard: bool = False
    """Write TensorBoard files too (needs tensorboard installed)."""
    quiet: bool = False
    """No progress bar."""
    save_every: float = 120.0
    """Seconds between checkpoints."""


def train_recipe(recipe: Recipe, settings: TrainSettings) -> Run:
    """Train all stages of a recipe, or what is left of them, and open the finished run."""
    us = join_group(settings.device)
    device = usable_device(f"cuda:{us.rank}" if us.world > 1 and settings.device == "cuda" else settings.device)
    pack = Pack(settings.data)
    recipe, chosen, store = _checked(recipe, settings, pack)
    if settings.resume and is_whole(recipe, chosen, settings.out):
        return open_run(settings.out, device=device)
    models: dict[str, nn.Module] = {}
    context_of = partial(_context, pack=pack, store=store, device=device, settings=settings, models=models)
    left = _left(recipe, chosen, settings)
    if len(left) > 1:  # a single one is reached at once
        rehearse(recipe, chosen, left, partial(context_of, settings=_small(settings)))
    barrier()  # all have looked at the folder before it changes
    position, checkpoint, log = _begin(recipe, chosen, settings, pack, store)
    progress = Progress(enabled=us.is_main and not settings.quiet)

    for index, stage in enumerate(recipe.stages):
        if stage.name not in chosen:
            continue
        weights, best = stage_path(settings.out, stage.name), best_path(settings.out, stage.name)
        context = context_of(stage)
        resumed = checkpoint is not None and index == position.stage
        if not resumed:
            # Each stage starts from its own seed, so that a resumed run and a whole one draw the same numbers.
            _seed_everything(recipe.seed, index)
        model = starting_model(stage, context)
        if weights.is_file():
            load_weights(model, weights)
            best.unlink(missing_ok=True)  # where training was killed before it went
        else:
            if not resumed:
                position, checkpoint = Position(stage=index, total=position.total), None
            runtime = _runtime(recipe, index, model, settings, log, progress, context_of)
            model = train_stage(stage, model, context, runtime, recipe.seed, position, checkpoint)
            checkpoint = None
            barrier()  # the best weights are read by all before they go
            if us.is_main:
                save_weights(model, weights)
                best.unlink(missing_ok=True)
            barrier()
        # A copy: later stages train on, and a frozen reference must not move with them.
        models[stage.name] = models["previous"] = copy.deepcopy(model).eval()
    if us.is_main:
        save_weights(models["previous"], settings.out / "model.safetensors")
        shutil.rmtree(settings.out / "checkpoints", ignore_errors=True)
    if log:
        log.close()
    barrier()
    return open_run(settings.out, device=device)


def _checked(recipe: Recipe, settings: TrainSettings, pack: Pack) -> tuple[Recipe, frozenset[str], FeatureStore | None]:
    """The recipe as it is to be trained, its chosen stages and its features, after everything that can be refused
    before the run folder is made."""
    recipe = override(recipe, settings.set)
    chosen = chosen_stages(recipe, settings.stages)
    if settings.start:
        recipe = started_from(recipe, settings.start, chosen)
    check_recipe(recipe, pack)
    store = choose_features(pack, recipe.features, settings.features)
    if store is not None:
        check_features(recipe, pack, store)
    if settings.start:
        check_start(settings.start, pack, store)
    recipe = with_described_model(recipe)
    check_folder(recipe, settings.out, settings.resume)
    if settings.base is not None:
        check_base(settings.base, recipe)
    return recipe, chosen, store


def _left(recipe: Recipe, chosen: frozenset[str], settings: TrainSettings) -> frozenset[str]:
    """The chosen stages that are still to be trained."""
    folders = [folder for folder in (settings.out, settings.base) if folder is not None]
    return chosen.difference(*(finished_stages(recipe, folder) for folder in folders))


def _small(settings: TrainSettings) -> TrainSettings:
    """For what reads few rows: they need not lie on the device a second time."""
    return replace(settings, resident=False)


def _begin(
    recipe: Recipe, chosen: frozenset[str], settings: TrainSettings, pack: Pack, store: FeatureStore | None
) -> tuple[Position, Path | None, Log | None]:
    """Write what the run folder is, see what it holds already, and open its log: the main process's business. All
    learn where to go on."""
    begun: dict[str, Any] = {}
    log = None
    if group().is_main:
        advice = idle_stages(recipe)
        if advice and not (settings.stages or settings.start or settings.quiet):
            print(advice, file=sys.stderr)
        describe_run(settings.out, recipe, pack, store)
        if settings.base is not None:
            take_over(settings.base, recipe, settings.out)
        found = look_at(recipe, chosen, settings.out)
        begun = {"position": vars(found.position), "checkpoint": str(found.checkpoint or "")}
        log = Log(settings.out / "log.jsonl", found.rows, settings.tensorboard)
    begun = from_main(begun)
    return Position(**begun["position"]), Path(begun["checkpoint"]) if begun["checkpoint"] else None, log


def _runtime(
    recipe: Recipe,
    index: int,
    model: nn.Module,
    settings: TrainSettings,
    log: Log | None,
    progress: Progress,
    context_of: Callable[..., Context],
) -> StageRuntime:
    stage = recipe.stages[index]
    best = best_path(settings.out, stage.name)
    knowing = [(judge, context_of(judge, settings=_small(settings))) for judge in judges(recipe, index)]
    return StageRuntime(
        settings.out / "checkpoints",
        log,
        progress,
        save_best=partial(save_weights, path=best),
        load_best=partial(load_weights, path=best),
        save_every=settings.save_every,
        replay=settings.replay,
        carried=carried_objective(recipe, index, settings.out),
        save_objective=objective_saver(stage, settings.out),
        earlier=earlier_losses(knowing, model, next(model.parameters()).device),
    )


def _context(
    stage: Stage,
    pack: Pack,
    store: FeatureStore | None,
    device: torch.device,
    settings: TrainSettings,
    models: dict[str, nn.Module],
) -> Context:
    features = None if store is None else {**store.facts, "rows": store.most_rows}

    def load(name: str) -> tuple[nn.Module, Vocabulary]:
        run = open_run(name, device=device)
        return run.model, run.vocabulary

    return Context(
        pack=pack,
        inputs=inputs_for(pack.vocabulary, features, load_pretrained=True),
        batches=Batches(
            pack,
            store,
            stage.sampling.columns,
            device,
            stage.sampling.longest,
            settings.resident,
            stage.sampling.views,
            REPLAYED_WIDTH if settings.replay and device.type == "cuda" else 1,
        ),
        store=store,
        device=device,
        train_split=stage.sampling.split,
        models=models,
        load_run=load,
    )


def _seed_everything(seed: int, stage: int) -> None:
    random.seed(seed * 1000 + stage)
    np.random.seed((seed * 1000 + stage) % 2**32)
    torch.manual_seed(seed * 1000 + stage)
