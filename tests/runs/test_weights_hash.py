"""Weights are read as they were written, or not at all."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from tellapart.core.errors import InputError
from tellapart.runs.run import load_weights, save_weights
from tellapart.runs.weights_hash import check_hash, with_hash


def test_a_flipped_bit_anywhere_in_the_weights_is_noticed(tmp_path: Path) -> None:
    model, path = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), tmp_path / "model.safetensors"
    save_weights(model, path)
    load_weights(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), path)
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    for place in range(start, len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(InputError, match="is damaged: its weights are not those that were written"):
            load_weights(model, path)


def test_weights_of_earlier_versions_have_no_hash_and_load(tmp_path: Path) -> None:
    model, path = nn.Linear(3, 2), tmp_path / "model.safetensors"
    save_file(model.state_dict(), path)
    opened = nn.Linear(3, 2)
    load_weights(opened, path)
    assert torch.equal(opened.weight, model.weight) and torch.equal(opened.bias, model.bias)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.int8, torch.bool, torch.int64])
def test_every_type_has_a_hash(tmp_path: Path, kind: torch.dtype) -> None:
    weights = {"a": torch.zeros(3, 2).to(kind), "scalar": torch.ones(()).to(kind), "empty": torch.zeros(0).to(kind)}
    save_file(weights, tmp_path / "w", metadata=with_hash(weights, {"other": "kept"}))
    check_hash(tmp_path / "w", weights)
    with pytest.raises(InputError, match="damaged"):
        check_hash(tmp_path / "w", {**weights, "scalar": torch.zeros(()).to(kind)})
