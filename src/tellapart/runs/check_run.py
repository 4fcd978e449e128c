"""Checking a run folder: checksums, hashes inside weights, and whether its model can be built.

The last stage's weights are in the folder twice while it has `stages`, so a damaged copy is replaced by the other.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from safetensors.torch import load_file

from tellapart.core.checksums import add_checksums, checksum, read_checksums, write_checksums
from tellapart.core.errors import Error
from tellapart.core.explained import explained
from tellapart.core.files import atomic_path
from tellapart.core.findings import Findings
from tellapart.runs.run import DAMAGED, open_run, read_recipe, stage_path
from tellapart.runs.weights_hash import check_hash


def check_run(folder: Path, repair: bool = False) -> Findings:
    """Check the files of a run."""
    found = Findings(str(folder), "run")
    wrong = found.compare_files(folder, DAMAGED)
    wrong += _check_weights(folder, wrong, found)
    if repair:
        _repair_weights(folder, wrong, found)
    if found.damaged:
        return found
    try:
        if (folder / "model.safetensors").is_file():
            open_run(folder)
        else:
            read_recipe(folder)
            found.notes.append(f"{folder} has no model.safetensors: its training has not finished.")
    except (Error, OSError) as error:
        found.problem(str(error))
    if repair and read_checksums(folder) is None and not found.damaged and (folder / "model.safetensors").is_file():
        write_checksums(folder)
    return found


def _check_weights(folder: Path, wrong: list[str], found: Findings) -> list[str]:
    """Check the hashes inside files of weights that have no checksum, or whose checksum is right."""
    damaged = []
    for path in sorted(folder.rglob("*.safetensors")):
        name = path.relative_to(folder).as_posix()
        if name in wrong or any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        try:
            with explained(path, DAMAGED):
                check_hash(path, load_file(path))
        except Error as error:
            found.problem(f"{path} is damaged: {error}")
            damaged.append(name)
    return damaged


def _repair_weights(folder: Path, wrong: list[str], found: Findings) -> None:
    """Replace the damaged one of two equal files, if the other is whole."""
    if "recipe.json" in wrong:
        return
    last = stage_path(folder, read_recipe(folder, objectives=False).stages[-1].name).relative_to(folder).as_posix()
    for name, other in (("model.safetensors", last), (last, "model.safetensors")):
        source = folder / other
        if name not in wrong or other in wrong or not source.is_file():
            continue
        sums = read_checksums(folder) or {}
        if name in sums and sums[name] != checksum(source):
            continue
        with atomic_path(folder / name) as partial:
            shutil.copyfile(source, partial)
        add_checksums(folder, name)
        found.repaired(folder / name, f"it was copied from {other}, which holds the same weights")
