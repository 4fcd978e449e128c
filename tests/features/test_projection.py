"""Projected and coded features, and runs rewritten to read whole features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from tellapart.core.errors import InputError
from tellapart.core.files import read_json, write_json
from tellapart.data.pack_types import Caption, PackImage
from tellapart.data.write_pack import write_pack
from tellapart.features.projection import Projection, coded, fit_projection, from_codes, to_codes, words_of_images
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.fold import fold_projection, folded


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


def test_words_of_images_by_hand(tmp_path: Path) -> None:
    """Of four images, "a" is in all (too many), "dog" in two, "cat" and "red" in one (too few for least=2)."""
    texts = [(0, "a dog"), (0, "a red dog"), (1, "a dog"), (2, "a cat"), (3, "a")]
    images = [PackImage(str(row), "", "train") for row in range(4)]
    captions = [Caption(image, text, tuple(text.split()), "train") for image, text in texts]
    pack = write_pack(tmp_path, "p", "", images, captions, Vocabulary.from_words(["a", "cat", "dog", "red"]), {})
    assert words_of_images(pack, np.arange(4), least=2).tolist() == [[1], [1], [0], [0]]
    # Of images 2 and 0, in this order: "cat", "dog" and "red" are each in one of two, "a" in both.
    assert words_of_images(pack, np.asarray([2, 0]), least=1).tolist() == [[1, 0, 0], [0, 1, 1]]


def projected_run(folder: Path, width: int = 3, bias: bool = True) -> Path:
    """A run folder whose layer `model.enter` reads rows of `width` numbers."""
    layer = nn.Linear(width, 5, bias=bias)
    folder.mkdir()
    for name in ("recipe.json", "vocabulary.json"):
        write_json(folder / name, {"file": name})
    write_json(folder / "data.json", {"fingerprint": "f", "features": {"width": width}})
    save_file(
        {f"model.enter.{name}": value for name, value in layer.state_dict().items()}, folder / "model.safetensors"
    )
    return folder


def test_a_folded_run_reads_whole_features(tmp_path: Path) -> None:
    vectors, words = made_up()
    projection = fit_projection(vectors, words, vectors, 3)
    run = projected_run(tmp_path / "run")
    out = fold_projection(run, projection, ["model.enter"], {"width": 8}, tmp_path / "whole")
    small, whole = load_file(run / "model.safetensors"), load_file(out / "model.safetensors")
    expected = projection(vectors) @ small["model.enter.weight"].t() + small["model.enter.bias"]
    found = vectors @ whole["model.enter.weight"].t() + whole["model.enter.bias"]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert read_json(out / "data.json") == {"fingerprint": "f", "features": {"width": 8}}
    assert read_json(out / "recipe.json") == {"file": "recipe.json"}


@pytest.mark.parametrize(
    ("width", "bias", "layer", "message"),
    [
        (3, True, "model.lost", "has no layer 'model.lost'"),
        (4, True, "model.enter", "reads rows 4 wide"),
        (3, False, "model.enter", "has no bias"),
    ],
)
def test_runs_that_cannot_be_folded(tmp_path: Path, width: int, bias: bool, layer: str, message: str) -> None:
    vectors, words = made_up()
    projection = fit_projection(vectors, words, vectors, 3)
    run = projected_run(tmp_path / "run", width, bias)
    with pytest.raises(InputError, match=message):
        fold_projection(run, projection, [layer], {}, tmp_path / "whole")
    assert not (tmp_path / "whole").exists()
