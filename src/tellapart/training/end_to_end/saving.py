"""Weights as several safetensors files of bounded size: matrices in float16, vectors and statistics in float32."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from tellapart.core.errors import InputError

LARGEST_FILE = 14 * 2**20
CUT = "@@"  # key@@3: the fourth slice of rows of a tensor too large for one file


def save_parts(model: nn.Module, folder: Path, name: str) -> list[Path]:
    """Write `name`-0.safetensors, ... into the folder; a finished set replaces an earlier one."""
    pieces: list[tuple[str, Tensor]] = []
    for key, value in model.state_dict().items():
        kept = value.detach().to("cpu", torch.float16) if _is_matrix(value) else value.detach().cpu()
        pieces += _slices(key, kept.contiguous())
    files: list[dict[str, Tensor]] = [{}]
    size = 0
    for key, value in pieces:
        if size + value.nbytes > LARGEST_FILE and files[-1]:
            files.append({})
            size = 0
        files[-1][key] = value
        size += value.nbytes
    fresh = folder / f".{name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for number, tensors in enumerate(files):
        save_file(tensors, str(fresh / f"{name}-{number}.safetensors"))
    for old in folder.glob(f"{name}-[0-9]*.safetensors"):
        old.unlink()
    written = [path.rename(folder / path.name) for path in sorted(fresh.iterdir())]
    fresh.rmdir()
    return written


def load_parts(model: nn.Module, folder: Path, name: str) -> None:
    """Read what `save_parts` wrote into a model of the same shape."""
    found = sorted(folder.glob(f"{name}-[0-9]*.safetensors"))
    if not found:
        raise InputError(f"{folder} has no weights called {name}; give the folder with {name}-0.safetensors.")
    tensors: dict[str, Tensor] = {}
    for path in found:
        tensors |= load_file(str(path))
    cut: dict[str, list[tuple[int, Tensor]]] = {}
    for key in [key for key in tensors if CUT in key]:
        whole, number = key.split(CUT)
        cut.setdefault(whole, []).append((int(number), tensors.pop(key)))
    for key, slices in cut.items():
        tensors[key] = torch.cat([value for _, value in sorted(slices, key=lambda part: part[0])])
    model.load_state_dict(tensors)  # copies into each parameter's own precision


def _is_matrix(value: Tensor) -> bool:
    return value.is_floating_point() and value.ndim >= 2


def _slices(key: str, value: Tensor) -> list[tuple[str, Tensor]]:
    count = -(-value.nbytes // LARGEST_FILE)
    if count <= 1:
        return [(key, value)]
    return [(f"{key}{CUT}{number}", part.clone()) for number, part in enumerate(value.chunk(count))]
