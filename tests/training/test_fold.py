"""A run that learned on projected features reads the features themselves after folding."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tellapart.core.errors import InputError
from tellapart.core.files import read_json, write_json
from tellapart.features.projection import Projection
from tellapart.training.fold import fold_projection


def test_folding_changes_no_output(tmp_path: Path) -> None:
    torch.manual_seed(0)
    projection = Projection(mean=torch.randn(6), basis=torch.linalg.qr(torch.randn(6, 3))[0], scale=torch.rand(3) + 0.5)
    weight, bias, features = torch.randn(4, 3), torch.randn(4), torch.randn(5, 6)
    run = tmp_path / "run"
    for name in ("recipe.json", "vocabulary.json", "data.json"):
        write_json(run / name, {"features": {"width": 3}})
    save_file({"image.weight": weight, "image.bias": bias}, run / "model.safetensors")
    out = fold_projection(run, projection, ["image"], {"width": 6}, tmp_path / "out")
    folded = load_file(out / "model.safetensors")
    small = (features - projection.mean) @ projection.basis / projection.scale
    torch.testing.assert_close(
        features @ folded["image.weight"].t() + folded["image.bias"], small @ weight.t() + bias, rtol=1e-4, atol=1e-4
    )
    assert read_json(out / "data.json")["features"] == {"width": 6}
    with pytest.raises(InputError, match="has no layer 'text'"):
        fold_projection(run, projection, ["text"], {"width": 6}, tmp_path / "other")
