"""How much of a table's training fits into a given time.

A few steps of every kind are timed, and all rows are shortened by the same share of their epochs, so that they stay
comparable.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import nn

from tellapart.core.errors import InputError
from tellapart.data.batches import Batches
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.sampling import draw_epoch, steps_per_epoch
from tellapart.evaluation import EVALUATIONS
from tellapart.objectives.context import Context
from tellapart.reproduce.jobs import Job, Plan, pending_jobs, plan
from tellapart.reproduce.table import Table
from tellapart.reproduce.work import Bench
from tellapart.runs.recipe import Schedule, Stage
from tellapart.runs.registry import to_plain
from tellapart.runs.run import inputs_for
from tellapart.training.feed import made
from tellapart.training.judging import earlier_losses, judges, validation_losses
from tellapart.training.starting_model import starting_model

SHARES = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001)
"""Few values, so that the same budget finds the same runs in the cache again."""
STEPS = 3
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
        raise InputError(f"'{text}' is no time to spend; write it like 90s, 20m or 1.5h.")
    return seconds


@dataclass(frozen=True)
class Price:
    step: float
    """Seconds of one training step."""
    evaluation: float
    """Seconds of one evaluation on validation."""


@dataclass
class Prices:
    """What steps and evaluations cost on a device, measured once for each distinct stage."""

    pack: Pack
    device: str
    resident: bool = False
    known: dict[str, Price] = field(default_factory=dict)

    def of(self, job: Job) -> float:
        """Seconds of the stages that a job trains itself."""
        total = 0.0
        for index in job.trained:
            stage = job.recipe.stages[index]
            # Steps and epochs do not change what one step costs.
            described = replace(stage, epochs=1, sampling=replace(stage.sampling, steps=None), schedule=Schedule())
            name = json.dumps([to_plain(described), job.features])
            if name not in self.known:
                self.known[name] = self._measure(job, index)
            steps = steps_per_epoch(self.pack, stage.sampling)
            evaluations = max(1, stage.epochs // stage.evaluate_every)
            total += self.known[name].step * steps * stage.epochs + self.known[name].evaluation * evaluations
        return total

    def _measure(self, job: Job, index: int) -> Price:
        models: dict[str, nn.Module] = {}
        for before in (stage for stage in job.recipe.stages[:index] if stage.name in job.stages):
            models[before.name] = models["previous"] = starting_model(
                before, self._context(job, before, models, self.resident)
            )
        stage = job.recipe.stages[index]
        context = self._context(job, stage, models, self.resident)
        objective = stage.objective.build(starting_model(stage, context), context).to(context.device).train()
        knowing = [(judge, self._context(job, judge, models, False)) for judge in judges(job.recipe, index)]
        earlier = earlier_losses(knowing, objective.get_submodule("model"), context.device)
        draws = draw_epoch(self.pack, stage.sampling, (0, 0, 0))
        started = 0.0
        for step in range(STEPS + 1):
            if step == 1:
                # The first step pays for what is set up once.
                started = _now(context.device)
            objective(made(context.batches, draws[step % len(draws)]))["loss"].backward()
        trained = _now(context.device)
        with torch.no_grad():
            objective.eval()
            if stage.evaluation == "loss":
                validation_losses(objective, context, stage, earlier)
            else:
                EVALUATIONS[stage.evaluation](objective.model, context, stage.validation_split)
        return Price((trained - started) / STEPS, _now(context.device) - trained)

    def _context(self, job: Job, stage: Stage, models: dict[str, nn.Module], resident: bool) -> Context:
        store = None if job.features is None else FeatureStore(self.pack.feature_folder(job.features))
        facts = None if store is None else {**store.facts, "rows": store.most_rows}
        device, sampling = torch.device(self.device), stage.sampling
        return Context(
            pack=self.pack,
            inputs=inputs_for(self.pack.vocabulary, facts, load_pretrained=True),
            batches=Batches(self.pack, store, sampling.columns, device, sampling.longest, resident, sampling.views),
            store=store,
            device=device,
            train_split=sampling.split,
            models=models,
        )


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.monotonic()


def choose_share(
    tables: Sequence[Table],
    features: Sequence[str],
    seeds: int | None,
    bench: Bench,
    devices: Sequence[str],
    seconds: float,
) -> tuple[float, Plan]:
    """The largest share of epochs whose uncached runs are expected to fit into `seconds`, and its plan."""
    started = time.monotonic()
    pack, cache = Pack(bench.data), bench.open_cache()
    prices = Prices(pack, devices[0], bench.resident)
    for share in SHARES:
        planned = plan(tables, pack, features, seeds, share, cache)
        cost = sum(prices.of(job) for job in pending_jobs(planned, cache))
        if cost / len(devices) <= seconds - (time.monotonic() - started):
            break
    return share, planned
