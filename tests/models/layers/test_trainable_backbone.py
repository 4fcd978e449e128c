"""A matcher's own backbone: rows from pixels, batch norms that stay put, and no features in the place of pixels."""

from pathlib import Path

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.core.types import Images
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.trainable_backbone import TrainableBackbone, trainable_backbone
from tiny_world import tiny_context


@pytest.fixture
def inputs(tmp_path: Path) -> ModelInputs:
    vocabulary = tiny_context(tmp_path).inputs.vocabulary
    return ModelInputs(vocabulary, 7, load_pretrained=False)


def pixels() -> Images:
    return Images(
        torch.zeros(2, 1, 0), torch.ones(2, 1, dtype=torch.bool), pixels=torch.randint(0, 255, (2, 3, 64, 64)).byte()
    )


def test_pixels_become_rows_and_norms_stay(inputs: ModelInputs) -> None:
    backbone = TrainableBackbone("efficientnet-lite0", inputs).train()
    found = backbone(pixels())
    assert found.features.shape == (2, 4, 1280) and found.mask.all()
    norms = [m for m in backbone.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert norms and not any(norm.training for norm in norms)
    found.features.sum().backward()
    assert any(parameter.grad is not None for parameter in backbone.parameters())
    loose = TrainableBackbone("efficientnet-lite0", inputs, freeze_norms=False).train()
    assert any(m.training for m in loose.modules() if isinstance(m, torch.nn.BatchNorm2d))


def test_without_pixels_it_raises_and_without_a_name_it_passes_on(inputs: ModelInputs) -> None:
    features = Images(torch.zeros(1, 2, 7), torch.ones(1, 2, dtype=torch.bool))
    with pytest.raises(InputError, match="reads pixels"):
        TrainableBackbone("efficientnet-lite0", inputs)(features)
    through, width = trainable_backbone("", inputs, True)
    assert through(features) is features and width == 7
