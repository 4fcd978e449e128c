"""What an objective has learned besides its model, kept from stage to stage: LTD's decoder and multiplier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from tellapart.core.files import atomic_path
from tellapart.runs.old_names import renamed_weights
from tellapart.runs.recipe import Recipe, Stage

MODEL = "model."
"""Prefix of the model's weights, which are stored by themselves."""


def objective_path(out: Path, stage: str) -> Path:
    """Where a run keeps the state of a stage's objective."""
    return out / "stages" / f"{stage}.objective.safetensors"


def objective_state_saver(stage: Stage, out: Path) -> Callable[[nn.Module], None] | None:
    """A function that writes an objective's state without its model's; None for a stage that does not keep it."""

    def save(objective: nn.Module) -> None:
        state = {k: v for k, v in objective.state_dict().items() if not k.startswith(MODEL)}
        with atomic_path(objective_path(out, stage.name)) as partial:
            save_file({k: v.detach().cpu().contiguous().clone() for k, v in state.items()}, partial)

    return save if stage.keep_objective else None


def load_objective_state(recipe: Recipe, index: int, out: Path) -> dict[str, Tensor]:
    """State of the objective of the stage that stage `index` starts from; empty where that stage does not keep it."""
    start = recipe.stages[index].start
    names = [stage.name for stage in recipe.stages[:index]]
    source = names[-1] if start == "previous" and names else start
    if source not in names or not recipe.stages[names.index(source)].keep_objective:
        return {}
    return renamed_weights(load_file(objective_path(out, source)))
