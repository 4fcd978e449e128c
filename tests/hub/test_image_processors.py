"""Images reach a pretrained model through its own image processor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import tiny_hub
from tellapart.features.backbones import load_backbone
from tellapart.images.own_processor import open_processor

transformers = pytest.importorskip("transformers")
Hub = Callable[[str], Path]


@pytest.mark.parametrize("family", tiny_hub.BACKBONES)
def test_a_backbone_sees_what_its_processor_makes(hub: Hub, photos: list[Path], family: str) -> None:
    """Reading preprocessor_config.json by hand was off by up to a twentieth: crops and resampling differed."""
    folder = hub(family)
    backbone = load_backbone(str(folder))
    processor = transformers.AutoImageProcessor.from_pretrained(folder)
    squares = torch.stack([backbone.square(path, "own").pixels for path in photos])
    with torch.no_grad():
        found = backbone.normalise(squares)
        expected = processor(images=[Image.open(path).convert("RGB") for path in photos], return_tensors="pt")
        torch.testing.assert_close(found, expected["pixel_values"], atol=1e-5, rtol=1e-5)
        model = transformers.AutoModel.from_pretrained(folder).eval()
        own = model(**expected)
        torch.testing.assert_close(backbone.pooled(squares), own.pooler_output.flatten(1), atol=1e-5, rtol=1e-4)


def test_a_backbone_is_also_named_as_hf(hub: Hub) -> None:
    assert load_backbone(f"hf:{hub('dinov2')}").width == 16


def test_the_window_of_a_crop_is_the_part_that_is_seen(hub: Hub, tmp_path: Path) -> None:
    """A photo of 72 x 144 is resized to 36 x 72, of which 32 x 32 in the middle are seen."""
    Image.fromarray(np.zeros((72, 144, 3), np.uint8)).save(tmp_path / "wide.png")
    processor = open_processor(str(hub("clip")))
    assert processor is not None
    window = processor.square(tmp_path / "wide.png").window
    assert window == pytest.approx((0.5 - 16 / 72, 0.5 - 16 / 36, 0.5 + 16 / 72, 0.5 + 16 / 36))


def test_mean_and_deviation_are_measured(hub: Hub) -> None:
    """ALIGN's processor has an offset and no mean: 0 … 255 becomes -1 … 1."""
    processor = open_processor(str(hub("align")))
    assert processor is not None
    found = processor.preprocessing()
    assert found.mean == pytest.approx((0.5, 0.5, 0.5)) and found.std == pytest.approx((0.5, 0.5, 0.5))
    patches = open_processor(str(hub("siglip2")))
    assert patches is not None
    with pytest.raises(ValueError, match="squares"):
        patches.preprocessing()
