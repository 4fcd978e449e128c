"""How much of the training of tables fits into a given time.

A few steps of every distinct stage are timed, and all rows are shortened by the same share of their epochs, so that
they stay comparable."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch

from tellapart.core.errors import InputError
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.sampling import draw_epoch, steps_per_epoch
from tellapart.evaluation import EVALUATIONS
from tellapart.models.layers.pixel_backbone import seen_once
from tellapart.models.vision import batch_as_seen
from tellapart.reproduce.jobs import Job, Plan, pending_jobs
from tellapart.reproduce.plan import plan
from tellapart.reproduce.settings import ReproduceSettings
from tellapart.reproduce.table import Table
from tellapart.runs.context import ContextBuilder
from tellapart.runs.recipe import Schedule
from tellapart.runs.registry import to_plain
from tellapart.runs.run import seen_facts
from tellapart.training.initial_model import initial_model
from tellapart.training.prefetch import make_batch
from tellapart.training.validation import earlier_losses, validating_stages, validation_losses

SHARES = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001)
"""Few values, so that the same budget finds the same runs in the cache again."""
TIMED_STEPS = 3
STARTING = 5.0
"""Seconds that the process which trains takes to start."""
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def parse_budget(text: str) -> float:
    """Seconds in `90s`, `20m` or `1.5h`.

    >>> parse_budget("20m")
    1200.0
    """
    try:
        seconds = float(text[:-1]) * UNITS[text[-1:]]
    except (KeyError, ValueError):
        seconds = -1.0
    if seconds <= 0:
        raise InputError(f"`budget`: '{text}' is not a duration; write it like 90s, 20m or 1.5h.")
    return seconds


@dataclass(frozen=True)
class StageCost:
    """Seconds that parts of a stage take."""

    step: float
    """One training step."""
    evaluation: float
    """One evaluation on validation."""


@dataclass
class CostModel:
    """What steps and evaluations cost on a device, measured once for each distinct stage."""

    pack: Pack
    device: str
    resident: bool = False
    known: dict[str, StageCost] = field(default_factory=dict)

    def seconds(self, job: Job) -> float:
        """Estimated seconds of the stages that a job trains."""
        total = 0.0
        for index in job.trained:
            stage = job.recipe.stages[index]
            # The numbers of steps and epochs do not change what one step costs.
            described = replace(stage, epochs=1, sampling=replace(stage.sampling, steps=None), schedule=Schedule())
            name = json.dumps([to_plain(described), job.features])
            if name not in self.known:
                self.known[name] = self._measure(job, index)
            steps = steps_per_epoch(self.pack, stage.sampling)
            evaluations = max(1, stage.epochs // stage.evaluate_every)
            if index == job.trained[-1]:
                evaluations += len(job.measures)  # the tests at the end take about as long as a validation each
            total += self.known[name].step * steps * stage.epochs + self.known[name].evaluation * evaluations
        return total

    def _measure(self, job: Job, index: int) -> StageCost:
        store = None if job.features is None else FeatureStore(self.pack.feature_folder(job.features))
        seen = next((facts for stage in job.recipe.stages if stage.model and (facts := seen_facts(stage))), None)
        builder = ContextBuilder(
            self.pack, store, torch.device(self.device), self.resident, seen=seen if store is None else None
        )
        for before in (stage for stage in job.recipe.stages[:index] if stage.name in job.stages):
            model = initial_model(before, builder.context(before.sampling))
            builder.models[before.name] = builder.models["previous"] = model
        stage = job.recipe.stages[index]
        context = builder.context(stage.sampling)
        objective = stage.objective.build(initial_model(stage, context), context).to(context.device).train()
        small = replace(builder, resident=False)
        validating = [(other, small.context(other.sampling)) for other in validating_stages(job.recipe, index)]
        earlier = earlier_losses(validating, objective.get_submodule("model"), context.device)
        draws = draw_epoch(self.pack, stage.sampling, (0, 0, 0))
        started = 0.0
        for step in range(TIMED_STEPS + 1):
            if step == 1:
                # The first step also pays for what is set up once.
                started = _now(context.device)
            batch = make_batch(context.batches, draws[step % len(draws)])
            with seen_once():
                loss = objective(batch_as_seen(objective.model, batch))["loss"]
            loss.backward()
        trained = _now(context.device)
        with torch.no_grad():
            objective.eval()
            if stage.evaluation == "loss":
                validation_losses(objective, context, stage, earlier)
            else:
                EVALUATIONS[stage.evaluation](objective.model, context, stage.validation_split)
        return StageCost((trained - started) / TIMED_STEPS, _now(context.device) - trained)


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.monotonic()


def choose_share(tables: Sequence[Table], settings: ReproduceSettings, seconds: float) -> tuple[float, Plan]:
    """The largest share of epochs whose uncached runs are expected to fit into `seconds`, and its plan.

    Raises if not even the smallest share fits.
    """
    started = time.monotonic()
    costs = CostModel(Pack(settings.data), settings.devices[0], settings.resident)
    for share in SHARES:
        planned = plan(tables, replace(settings, share=share))
        pending = pending_jobs(planned, settings.open_cache())
        cost = STARTING + sum(costs.seconds(job) for job in pending) / len(settings.devices)
        spent = time.monotonic() - started
        if not pending or cost <= seconds - spent:
            return share, planned
    raise InputError(
        f"`budget`: even {SHARES[-1]:.1%} of the epochs of {len(pending)} runs take about {cost + spent:.0f} s, more "
        f"than {seconds:g} s. Give more time, or fewer rows or seeds."
    )
