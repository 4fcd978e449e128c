"""A recipe gone through before it is trained, with models that have learned nothing: what a later stage refuses (a
teacher that is not there or cannot teach, a model of the wrong kind, a missing column) is told at once, not after the
stages before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import torch
from torch import nn

from tellapart.core.distributed import single_process
from tellapart.data.sampling import draw_few
from tellapart.evaluation import CHECKS
from tellapart.objectives.context import Context
from tellapart.runs.recipe import Recipe
from tellapart.training.feed import made
from tellapart.training.judging import check_monitor, earlier_losses, judges
from tellapart.training.optimisers import build_optimiser, freeze
from tellapart.training.starting_model import starting_model


def rehearse(
    recipe: Recipe, chosen: Collection[str], left: Collection[str], context_of: Callable[..., Context]
) -> None:
    """Build the chosen stages one after the other, and show the objectives of those left to train a batch of two rows.

    Raises what training would. Random numbers are drawn, which changes nothing: each stage has its own seed.
    """
    models: dict[str, nn.Module] = {}
    for index, stage in enumerate(recipe.stages):
        if stage.name not in chosen:
            continue
        context = context_of(stage, models=models)
        model = starting_model(stage, context, quiet=True)
        if stage.name in left:
            knowing = [(judge, context_of(judge, models=models)) for judge in judges(recipe, index)]
            earlier_losses(knowing, model, context.device)
            freeze(model, stage.frozen)
            objective: nn.Module = stage.objective.build(model, context).to(context.device)
            build_optimiser(stage.optimiser, objective)
            batch = made(context.batches, draw_few(context.pack, stage.sampling))
            with single_process(), torch.no_grad():
                figures = objective.eval()(batch)
            if stage.evaluation in CHECKS:
                CHECKS[stage.evaluation](model, context, stage.validation_split)
            elif stage.evaluation == "loss":
                check_monitor(stage, [name for name, value in figures.items() if value.numel() == 1])
        models[stage.name] = models["previous"] = model.eval()
