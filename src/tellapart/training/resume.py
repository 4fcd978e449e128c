"""What a run folder already holds, and where training resumes.

A finished stage has its weights in `stages/`. The newest checkpoint counts if it belongs to the first unfinished stage.
Of all other stages only the log of finished ones is kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.runs.recipe import DESCRIPTION, Recipe
from tellapart.runs.registry import to_plain
from tellapart.runs.run import best_path, read_recipe, stage_path
from tellapart.training.checkpoints import Position, newest_checkpoint, read_position
from tellapart.training.log import read_log
from tellapart.training.stage_dependencies import finished_stages


@dataclass(frozen=True)
class ResumePoint:
    """Where training resumes."""

    position: Position
    checkpoint: Path | None
    """Of the stage at `position`."""
    rows: tuple[dict[str, Any], ...]
    """Rows of the log that stay."""


def check_folder(recipe: Recipe, out: Path, resume: bool) -> None:
    """Raise if a folder holds a run, unless it is a run of this recipe and `resume` is set."""
    if not (out / "recipe.json").is_file():
        if any((out / name).exists() for name in ("checkpoints", "stages", "model.safetensors")):
            raise InputError(f"{out} holds weights but no recipe.json; choose another folder for `out`.")
        return
    if not resume:
        raise InputError(f"{out} already holds a run; set `resume=True` to resume it, or choose another `out`.")
    theirs, ours = to_plain(read_recipe(out)), to_plain(recipe)
    if any(theirs.get(field) != ours.get(field) for field in (theirs.keys() | ours.keys()) - set(DESCRIPTION)):
        raise InputError(f"{out} holds a run of another recipe or with other overrides; choose another `out`.")


def is_finished(recipe: Recipe, chosen: Collection[str], out: Path) -> bool:
    """Whether a run is finished and has the chosen stages. A slim copy has no stages but counts as finished."""
    if not (out / "model.safetensors").is_file():
        return False
    return not (out / "stages").is_dir() or finished_stages(recipe, out).issuperset(chosen)


def find_resume_point(recipe: Recipe, chosen: Collection[str], out: Path) -> ResumePoint:
    """What has been done of the chosen stages. Checkpoints that training does not resume from are removed."""
    checkpoint = newest_checkpoint(out / "checkpoints")
    position = read_position(checkpoint) if checkpoint else Position()
    if not 0 <= position.stage < len(recipe.stages):
        raise InputError(f"{checkpoint} is of a stage that the recipe does not have; remove {out / 'checkpoints'}.")
    at = recipe.stages[position.stage].name
    if checkpoint and at in chosen and stage_path(out, at).is_file():
        # The stage ended after this checkpoint: its end is repeated, which also writes its log rows again.
        stage_path(out, at).replace(best_path(out, at))
    finished = finished_stages(recipe, out)
    left = [stage.name for stage in recipe.stages if stage.name in chosen and stage.name not in finished]
    if checkpoint and at not in left[:1]:
        shutil.rmtree(out / "checkpoints")
        checkpoint = None
    rows = read_log(out / "log.jsonl")
    kept = [
        row
        for row in rows
        if row["stage"] in finished or (checkpoint and row["stage"] == at and row["total"] <= position.total)
    ]
    if checkpoint is None:
        position = Position(total=max((row["total"] for row in kept), default=0))
    return ResumePoint(position, checkpoint, tuple(kept))
