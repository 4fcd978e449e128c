"""Projected and coded features, and runs that forget that they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

from tellapart.features.projection import Projection, coded, fit_projection, from_codes, to_codes
from tellapart.training.fold import folded


def made_up() -> tuple[torch.Tensor, torch.Tensor]:
    """Features of which only the first two channels say anything about three words."""
    random = torch.Generator().manual_seed(0)
    vectors = torch.randn(400, 8, generator=random)
    vectors[:, 2:] *= 5
    words = torch.stack([vectors[:, 0] > 0, vectors[:, 1] > 0, vectors[:, 0] + vectors[:, 1] > 0], 1).float()
    return vectors, words


def test_directions_are_those_that_predict_words_not_those_that_vary_most() -> None:
    vectors, words = made_up()
    projection = fit_projection(vectors, words, vectors, 2, ridge=0.01)
    held = projection.basis[:2].pow(2).sum() / projection.basis.pow(2).sum()
    assert held > 0.95  # of the directions that vary most it would be near nothing


def test_coordinates_are_uncorrelated_with_variance_one() -> None:
    vectors, words = made_up()
    seen = fit_projection(vectors, words, vectors, 3)(vectors)
    torch.testing.assert_close(seen.t() @ seen / len(seen), torch.eye(3), atol=1e-3, rtol=0)


def test_codes_are_near_what_they_code() -> None:
    """Sixteen levels over -3.5 … 3.5 lie 7 / 15 apart, so nothing inside is further off than half of that."""
    coordinates = torch.linspace(-3.5, 3.5, 40).view(10, 4)
    codes = to_codes(coordinates)
    assert codes.shape == (10, 2) and codes.dtype == np.uint8
    assert float((from_codes(codes) - coordinates).abs().max()) <= 7 / 30 + 1e-6
    assert torch.equal(from_codes(to_codes(torch.tensor([[99.0, -99.0]]))), torch.tensor([[3.5, -3.5]]))


def test_stores_are_coded_in_parts() -> None:
    vectors, words = made_up()
    projection = fit_projection(vectors, words, vectors, 2)
    values = vectors.numpy().astype(np.float16)
    whole = to_codes(projection(torch.from_numpy(values.astype(np.float32))))
    assert np.array_equal(np.concatenate(list(coded(values, projection, rows=33))), whole)


def test_a_folded_layer_reads_whole_features(tmp_path: Path) -> None:
    vectors, words = made_up()
    projection = fit_projection(vectors, words, vectors, 3)
    projection.save(tmp_path / "projection.safetensors")
    projection = Projection.load(tmp_path / "projection.safetensors")
    layer, whole = nn.Linear(3, 5), nn.Linear(8, 5)
    with torch.no_grad():
        whole.weight[:], whole.bias[:] = folded(layer.weight, layer.bias, projection)
        torch.testing.assert_close(whole(vectors), layer(projection(vectors)), atol=1e-5, rtol=1e-5)
