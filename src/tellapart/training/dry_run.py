"""All stages of a recipe built and run on two rows before training starts.

What a later stage would reject (a teacher that is missing or cannot teach, a model of the wrong kind, a missing column)
is then known at once, and not only after the stages before it.
"""

from __future__ import annotations

import copy
from collections.abc import Collection

import torch
from torch import nn

from tellapart.core.distributed import single_process
from tellapart.data.sampling import draw_few
from tellapart.evaluation import CHECKS
from tellapart.models.vision import batch_as_seen
from tellapart.runs.context import ContextBuilder
from tellapart.runs.recipe import Recipe
from tellapart.training.initial_model import initial_model
from tellapart.training.optimisers import build_optimiser, freeze
from tellapart.training.prefetch import make_batch
from tellapart.training.validation import check_monitor, earlier_losses, validating_stages


def dry_run(recipe: Recipe, chosen: Collection[str], left: Collection[str], builder: ContextBuilder) -> None:
    """Build the chosen stages with untrained models, and run the objectives of those left to train on two rows.

    Raises what training would raise. Random numbers are drawn, which changes nothing: each stage has its own seed.
    """
    models = builder.models
    for index, stage in enumerate(recipe.stages):
        if stage.name not in chosen:
            continue
        context = builder.context(stage.sampling)
        model = initial_model(stage, context)
        if stage.name in left:
            earlier = [(other, builder.context(other.sampling)) for other in validating_stages(recipe, index)]
            earlier_losses(earlier, model, context.device)
            freeze(model, stage.frozen)
            if getattr(stage.objective, "reference", "") == "start":
                models["start"] = copy.deepcopy(model).eval()
            objective: nn.Module = stage.objective.build(model, context).to(context.device)
            build_optimiser(stage.optimiser, objective)
            batch = make_batch(context.batches, draw_few(context.pack, stage.sampling))
            with single_process(), torch.no_grad():
                values = objective.eval()(batch_as_seen(model, batch))
            if stage.evaluation in CHECKS:
                CHECKS[stage.evaluation](model, context, stage.validation_split)
            elif stage.evaluation == "loss":
                check_monitor(stage, [name for name, value in values.items() if value.numel() == 1])
        models[stage.name] = models["previous"] = model.eval()
