"""What a run folder holds already, and where training goes on.

A stage that has ended has its weights in `stages/`. The newest checkpoint counts where it is of the first stage that
has not; of all others nothing is kept but what the log says of stages that have ended.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.core.files import read_json
from tellapart.runs.recipe import DESCRIPTION, Recipe
from tellapart.runs.registry import recipe_from_plain, to_plain
from tellapart.runs.run import best_path, stage_path
from tellapart.training.checkpoints import Position, newest_checkpoint, read_position
from tellapart.training.log import read_log
from tellapart.training.needed_stages import finished_stages


@dataclass(frozen=True)
class Begun:
    """Where training goes on."""

    position: Position
    checkpoint: Path | None
    """Of the stage at `position`."""
    rows: tuple[dict[str, Any], ...]
    """Of the log so far, those that stay."""


def check_folder(recipe: Recipe, out: Path, resume: bool) -> None:
    """Refuses a folder that holds a run, unless it is this one and is to be gone on with."""
    described = out / "recipe.json"
    if not described.is_file():
        if any((out / name).exists() for name in ("checkpoints", "stages", "model.safetensors")):
            raise InputError(f"{out} holds weights but no recipe.json that says of what; choose another --out.")
        return
    if not resume:
        raise InputError(f"{out} already holds a run; add --resume to go on with it, or choose another --out.")
    theirs, ours = to_plain(recipe_from_plain(read_json(described))), to_plain(recipe)
    if any(theirs.get(field) != ours.get(field) for field in (theirs.keys() | ours.keys()) - set(DESCRIPTION)):
        raise InputError(f"{out} holds a run of another recipe or other overrides; choose another --out.")


def is_whole(recipe: Recipe, chosen: Collection[str], out: Path) -> bool:
    """Whether a run is finished and has all stages asked for. One that was handed out has none but its end."""
    if not (out / "model.safetensors").is_file():
        return False
    return not (out / "stages").is_dir() or finished_stages(recipe, out).issuperset(chosen)


def look_at(recipe: Recipe, chosen: Collection[str], out: Path) -> Begun:
    """What has been done of the chosen stages. Checkpoints that nothing goes on from are removed."""
    checkpoint = newest_checkpoint(out / "checkpoints")
    position = read_position(checkpoint) if checkpoint else Position()
    at = recipe.stages[position.stage].name
    if checkpoint and at in chosen and stage_path(out, at).is_file():
        # It ended after this checkpoint: its end is gone through again, which also writes the log's lines again.
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
    return Begun(position, checkpoint, tuple(kept))
