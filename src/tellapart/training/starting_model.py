"""The model that a stage begins with: a new one, an earlier stage's or run's, or a new one with what fits of those."""

from __future__ import annotations

import copy
import sys

from torch import nn

from tellapart.core.errors import InputError
from tellapart.objectives.context import Context
from tellapart.runs.recipe import Stage


def _built(stage: Stage, context: Context) -> nn.Module:
    try:
        return stage.model.build(context.inputs)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"The model of stage '{stage.name}' cannot be made: {error}.") from error


def starting_model(stage: Stage, context: Context, quiet: bool = False) -> nn.Module:
    """Build the stage's model, or go on with an earlier one, or both: a new model with every weight that fits."""
    model = None if stage.model is None else _built(stage, context)
    if model is not None and any(parameter.numel() == 0 for parameter in model.parameters()):
        raise InputError(
            f"The model of stage '{stage.name}' reads features, but the recipe has none (features=none); give it some, "
            "or a model with a backbone of its own."
        )
    if stage.start == "fresh":
        if model is None:
            raise InputError(f"Stage '{stage.name}' starts fresh but names no model.")
        return model.to(context.device)
    if stage.start in context.models:
        source = context.models[stage.start]
    elif stage.start == "previous":
        raise InputError(f"Stage '{stage.name}' starts from the previous stage, but it is the first one.")
    else:
        source = context.model(stage.start)
    if model is None:
        model = copy.deepcopy(source)
    else:
        own = model.state_dict()
        fitting = {k: v for k, v in source.state_dict().items() if k in own and own[k].shape == v.shape}
        if not fitting:
            raise InputError(f"Stage '{stage.name}': no weight of '{stage.start}' fits its model.")
        if not quiet and stage.start not in context.models and len(fitting) < len(own):
            print(
                f"Stage '{stage.name}' takes {len(fitting)} of its model's {len(own)} weights from {stage.start}; the "
                "others have another name or shape there and start fresh.",
                file=sys.stderr,
            )
        model.load_state_dict(fitting, strict=False)
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    return model.to(context.device)
