"""A run trained on projected features, rewritten to read the features themselves."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from tellapart.core.checksums import write_checksums
from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, read_json, write_json
from tellapart.features.projection import Projection
from tellapart.runs.weights_hash import with_hash


def fold_projection(
    folder: Path, projection: Projection, layers: Sequence[str], features: dict[str, Any], out: Path
) -> Path:
    """Copy a finished run with linear `layers` that read whole features: W z + b with z = (x - mean) basis / scale
    becomes W' x + b'. Returns `out`.

    layers: names of the linear layers that read features. features: facts of the whole features for data.json.
    """
    weights = load_file(folder / "model.safetensors")
    for layer in layers:
        if f"{layer}.weight" not in weights:
            raise InputError(f"{folder} has no layer '{layer}'; its weights are {', '.join(sorted(weights))}.")
        weight, bias = weights[f"{layer}.weight"], weights.get(f"{layer}.bias")
        if weight.shape[1] != len(projection.scale):
            raise InputError(
                f"The layer '{layer}' of {folder} reads rows {weight.shape[1]} wide, and the projection gives rows "
                f"{len(projection.scale)} wide: it is not the one this run was trained with."
            )
        if bias is None:
            raise InputError(f"The layer '{layer}' of {folder} has no bias to take up the projection's mean.")
        weights[f"{layer}.weight"], weights[f"{layer}.bias"] = folded(weight, bias, projection)
    data = read_json(folder / "data.json")
    with atomic_folder(out) as partial:
        for name in ("recipe.json", "vocabulary.json"):
            shutil.copyfile(folder / name, partial / name)
        write_json(partial / "data.json", {**data, "features": features})
        save_file(weights, partial / "model.safetensors", metadata=with_hash(weights))
        write_checksums(partial)
    return out


def folded(weight: Tensor, bias: Tensor, projection: Projection) -> tuple[Tensor, Tensor]:
    """W [H, K] and b [H] over coordinates to W' [H, D] and b' over features."""
    whole = (weight / projection.scale) @ projection.basis.t()
    return whole.contiguous(), bias - whole @ projection.mean
