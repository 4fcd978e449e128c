"""Weights in eight bits: close to the original, and runs in 32, 16 and 8 bits all open."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tellapart.core.errors import InputError
from tellapart.runs.quantised import SCALE, quantise, restore
from tellapart.runs.run import open_run
from tellapart.runs.slim_run import slim_run


def test_rows_keep_their_largest_value_and_lose_at_most_half_a_level() -> None:
    torch.manual_seed(0)
    weights = {"w": torch.randn(5, 3, 2) * torch.tensor([1e-6, 1.0, 30.0, 0.0, 1e4]).view(-1, 1, 1)}
    stored = quantise(weights)
    back = restore(stored)["w"]
    level = weights["w"].flatten(1).abs().amax(1) / 127
    assert stored["w"].dtype == torch.int8 and stored["w" + SCALE].shape == (5,)
    assert bool(((back - weights["w"]).flatten(1).abs().amax(1) <= level * 0.5001).all())
    torch.testing.assert_close(back.flatten(1).abs().amax(1), weights["w"].flatten(1).abs().amax(1))


def test_vectors_and_whole_numbers_stay_exact() -> None:
    weights = {"bias": torch.randn(7), "count": torch.tensor([[1, 2], [3, 4]]), "scale": torch.tensor(2.5)}
    back = restore(quantise(weights))
    assert all(torch.equal(back[name], value) for name, value in weights.items())


def test_values_that_are_not_finite_are_rejected() -> None:
    with pytest.raises(InputError, match="not finite"):
        quantise({"w": torch.tensor([[1.0, float("nan")]])})


def test_a_run_opens_in_every_precision(photo_world: Path, tmp_path: Path) -> None:
    whole = open_run(photo_world / "find").model.state_dict()
    for bits in (16, 8):
        folder = slim_run(photo_world / "find", tmp_path / str(bits), bits=bits)
        again = open_run(folder).model.state_dict()
        for name, value in whole.items():
            assert float((again[name] - value).abs().max()) <= float(value.abs().max()) / 100, name
    assert any(value.dtype == torch.int8 for value in load_file(tmp_path / "8" / "model.safetensors").values())
    twice = slim_run(tmp_path / "8", tmp_path / "twice", bits=8)
    assert (twice / "model.safetensors").read_bytes() == (tmp_path / "8" / "model.safetensors").read_bytes()
    with pytest.raises(InputError, match="8 or 16"):
        slim_run(photo_world / "find", tmp_path / "4", bits=4)
