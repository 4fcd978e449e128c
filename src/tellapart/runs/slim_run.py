"""A copy of a finished run to share: smaller weights, and nothing that only training needs."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from tellapart.core.checksums import write_checksums
from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder
from tellapart.models.hub.reading import FOLDER as HUB
from tellapart.runs.bundled import run_folder
from tellapart.runs.old_names import renamed_weights
from tellapart.runs.quantised import quantise, restore
from tellapart.runs.run import open_run
from tellapart.runs.weights_hash import with_hash

INSIDE = ("vision.", "backbone.")
"""Prefixes of the weights of a backbone inside a model."""


def slim_run(folder: Path | str, out: Path, bits: int = 16) -> Path:
    """A copy of a finished run to share: weights of the last stage in 16 or 8 bits, no log, no earlier stages."""
    folder = run_folder(folder)
    open_run(folder)  # raises if the run is not finished
    weights = renamed_weights(restore(load_file(folder / "model.safetensors")))
    if bits not in (8, 16):
        raise InputError(f"`bits` must be 8 or 16, not {bits}.")
    stored = _halved(weights, folder)
    if bits == 8:  # a backbone stays in 16 bits: it is loaded from the file by itself
        stored |= quantise({name: v for name, v in weights.items() if not name.startswith(INSIDE)})
    with atomic_folder(out) as partial:
        for name in ("recipe.json", "vocabulary.json", "data.json"):
            shutil.copyfile(folder / name, partial / name)
        save_file(
            stored, partial / "model.safetensors", metadata=with_hash(stored, _metadata(folder / "model.safetensors"))
        )
        if (folder / HUB).is_dir():
            shutil.copytree(folder / HUB, partial / HUB)
        if (folder / "backbone.safetensors").is_file():
            shutil.copyfile(folder / "backbone.safetensors", partial / "backbone.safetensors")
        write_checksums(partial)
    return out


def _metadata(path: Path) -> dict[str, str] | None:
    with safe_open(path, "pt") as file:
        found: dict[str, str] | None = file.metadata()
    return found


def _halved(weights: dict[str, Tensor], folder: Path) -> dict[str, Tensor]:
    halved = {}
    for name, value in weights.items():
        half = value.half() if value.is_floating_point() else value
        if not torch.equal(torch.isfinite(half), torch.isfinite(value)):
            raise InputError(f"{folder}: the weights '{name}' are too large for float16.")
        halved[name] = half.contiguous()
    return halved
