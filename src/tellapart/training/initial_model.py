"""The model that a stage starts with: a new one, that of an earlier stage or run, or a new one with their weights."""

from __future__ import annotations

import copy
from dataclasses import replace

from torch import nn

from tellapart.core.errors import InputError
from tellapart.core.progress import Progress
from tellapart.objectives.context import Context
from tellapart.runs.hub_recipe import is_own
from tellapart.runs.recipe import Stage
from tellapart.runs.run import build_model


def initial_model(stage: Stage, context: Context, progress: Progress | None = None) -> nn.Module:
    """Build the stage's model, copy an earlier one, or both: a new model with every weight that fits.

    progress: shows a line where weights of another run do not fit.
    """
    model = None if stage.model is None else _built(stage, context)
    if stage.start == "fresh":
        if model is None:
            raise InputError(f"Stage '{stage.name}' starts fresh but names no model.")
        return model.to(context.device)
    source = _source(stage, context)
    if model is None:
        model = copy.deepcopy(source)
    else:
        own = model.state_dict()
        fitting = {k: v for k, v in source.state_dict().items() if k in own and own[k].shape == v.shape}
        if not fitting:
            raise InputError(f"Stage '{stage.name}': no weight of '{stage.start}' fits its model.")
        if progress and stage.start not in context.models and len(fitting) < len(own):
            progress.line(
                f"Stage '{stage.name}' takes {len(fitting)} of its model's {len(own)} weights from {stage.start}; the "
                "others have another name or shape there and start fresh."
            )
        model.load_state_dict(fitting, strict=False)
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    return model.to(context.device)


def _built(stage: Stage, context: Context) -> nn.Module:
    inputs = context.inputs
    if is_own(stage.model) and stage.start not in ("fresh", "previous", *context.models):
        inputs = replace(inputs, load_pretrained=False)  # the model's source is a run, whose weights are read next
    try:
        model = build_model(stage, inputs)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"The model of stage '{stage.name}' cannot be built: {error}.") from error
    if any(parameter.numel() == 0 for parameter in model.parameters()):
        raise InputError(
            f"The model of stage '{stage.name}' reads features, but the recipe has none (features=none). Set features, "
            f"or give it a backbone: {stage.name}.vision.backbone=efficientnet-lite0."
        )
    return model


def _source(stage: Stage, context: Context) -> nn.Module:
    if stage.start in context.models:
        return context.models[stage.start]
    if stage.start == "previous":
        raise InputError(f"Stage '{stage.name}' starts from the previous stage, but it is the first one.")
    return context.model(stage.start)
