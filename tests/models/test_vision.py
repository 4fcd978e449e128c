"""A backbone that learns inside a model: rows, boxes, frozen parts, what is computed once, and less memory."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from pixel_world import SIDE, TINY, WIDTH, add_tiny_backbone
from tellapart.core.errors import InputError
from tellapart.core.types import Batch, Images, Texts
from tellapart.data.views import uniform_numbers
from tellapart.features.backbones import load_backbone
from tellapart.features.checkpointing import enable_checkpointing
from tellapart.features.efficientnet import EfficientNetLite, LiteSize
from tellapart.images.crops import Crops, resample
from tellapart.models.captioners.transformer import Transformer
from tellapart.models.captioners.up_down import UpDown, UpDownModel
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.pixel_backbone import PixelBackbone, cell_boxes, seen_once
from tellapart.models.matchers.vse import VSE
from tellapart.models.vision import Vision, batch_as_seen, vision_of, with_vision
from tellapart.text.vocabulary import Vocabulary

INPUTS = ModelInputs(Vocabulary.from_words(["a", "dog", "runs"]), 0)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    add_tiny_backbone(monkeypatch)


def pixels(count: int = 3) -> Images:
    generator = torch.Generator().manual_seed(0)
    values = torch.randint(0, 256, (count, 3, SIDE, SIDE), dtype=torch.uint8, generator=generator)
    return Images(torch.zeros(count, 1, 0), torch.ones(count, 1, dtype=torch.bool), pixels=values)


def test_rows_are_the_cells_or_their_mean() -> None:
    grid, vector = PixelBackbone(TINY).eval(), PixelBackbone(TINY, pooled=True).eval()
    assert (grid.rows(), vector.rows(), grid.width) == (4, 1, WIDTH)
    cells, mean = grid(pixels()), vector(pixels())
    expected = load_backbone(TINY).map(pixels().pixels)  # type: ignore[arg-type]
    torch.testing.assert_close(cells.features, expected.flatten(2).transpose(1, 2))
    torch.testing.assert_close(mean.features, cells.features.mean(1, keepdim=True))
    assert cells.boxes is not None and cells.boxes[0].tolist() == [
        [0, 0, 0.5, 0.5], [0.5, 0, 1, 0.5], [0, 0.5, 0.5, 1], [0.5, 0.5, 1, 1],
    ]  # fmt: skip
    assert cell_boxes(torch.zeros(1, 1, 1, 2)).tolist() == [[[0, 0, 0.5, 1], [0.5, 0, 1, 1]]]


@pytest.mark.parametrize("frozen", [None, True, False])
def test_batch_norms_are_frozen_unless_asked(frozen: bool | None) -> None:
    """In training: those of a pretrained network keep the statistics they came with."""
    backbone = PixelBackbone(TINY) if frozen is None else PixelBackbone(TINY, frozen_norms=frozen)
    backbone.network.norm = torch.nn.BatchNorm2d(2)
    assert backbone.train().training and backbone.network.norm.training == (frozen is False)


def test_a_model_stays_what_it_is() -> None:
    vision = Vision(TINY, features="grid")
    model = with_vision(vision, UpDown(hidden=8, attention=8).build, INPUTS).eval()
    assert isinstance(model, UpDownModel) and vision_of(model) is not None
    plain = UpDown(hidden=8, attention=8).build(ModelInputs(INPUTS.vocabulary, WIDTH, 4)).eval()
    plain.load_state_dict({k: v for k, v in model.state_dict().items() if not k.startswith("vision.")})
    rows = vision_of(model)(pixels())  # type: ignore[misc]
    tokens = torch.tensor([[1, 4, 5, 2]] * 3)
    torch.testing.assert_close(model.forward(pixels(), tokens).logits, plain.forward(rows, tokens).logits)
    copied = copy.deepcopy(model)
    torch.testing.assert_close(copied.forward(pixels(), tokens).logits, model.forward(pixels(), tokens).logits)
    assert copied.vision is not model.vision
    torch.testing.assert_close(model.forward(rows, tokens).logits, plain.forward(rows, tokens).logits)


def test_the_same_pixels_are_seen_once_within_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    model = with_vision(Vision(TINY, features="vector"), VSE(embedding=8, word_width=8).build, INPUTS)
    other = copy.deepcopy(model).eval().requires_grad_(False)
    calls: list[int] = []
    see = PixelBackbone._see
    monkeypatch.setattr(PixelBackbone, "_see", lambda self, *a: calls.append(id(self)) or see(self, *a))
    images = pixels()
    with seen_once():
        first, again = model.encode_image(images).vectors, model.encode_image(images).vectors
        other.encode_image(images)
        with torch.no_grad():
            model.encode_image(images)
    assert len(calls) == 3 and calls[0] != calls[1]  # its own, the other's, and without gradient
    assert torch.equal(first, again)
    model.encode_image(images), model.encode_image(images)
    assert len(calls) == 5


def test_objectives_read_rows_that_have_no_gradient() -> None:
    model = with_vision(Vision(TINY, features="grid"), VSE(embedding=8, word_width=8).build, INPUTS)
    texts = Texts(torch.tensor([[1, 4, 2]]), torch.tensor([3]))
    batch = Batch(pixels(1), texts, torch.zeros(1, dtype=torch.long), torch.zeros(1).long(), torch.zeros(1).long())
    seen = batch_as_seen(model, batch)
    assert seen.images.features.shape == (1, 4, WIDTH) and not seen.images.features.requires_grad
    assert seen.images.pixels is batch.images.pixels and seen.images.boxes is not None
    assert batch_as_seen(VSE(embedding=8).build(ModelInputs(INPUTS.vocabulary, 4)), batch) is batch


def test_models_that_read_no_images_are_rejected() -> None:
    with pytest.raises(InputError, match="reads no images"):
        with_vision(Vision(TINY), lambda inputs: torch.nn.Linear(inputs.feature_width, 2), INPUTS)


def test_positions_of_a_transformer_fit_the_map() -> None:
    small = Transformer(width=8, heads=2, feed_forward=8)
    model = with_vision(Vision(TINY, features="grid", pixels=2 * SIDE), small.build, INPUTS)
    images = Images(torch.zeros(1, 1, 0), torch.ones(1, 1).bool(), pixels=torch.zeros(1, 3, 32, 32))
    assert model.forward(images, torch.tensor([[1, 4, 2]])).logits.shape == (1, 2, 7)


def test_checkpointing_changes_neither_gradients_nor_statistics() -> None:
    torch.manual_seed(0)
    plain = load_backbone(TINY)
    plain.network = EfficientNetLite(LiteSize(0.25, 0.3, 32)).train()
    saved = copy.deepcopy(plain)
    names = list(plain.network.state_dict())
    enable_checkpointing(saved)
    assert list(saved.network.state_dict()) == names
    values = torch.randn(2, 3, 32, 32)
    for backbone in (plain, saved):
        backbone.network.requires_grad_(True).train()
        backbone.network(values).square().mean().backward()
    for (name, ours), theirs in zip(saved.network.named_parameters(), plain.network.parameters()):
        torch.testing.assert_close(ours.grad, theirs.grad, msg=name)
    buffers = (dict(backbone.network.named_buffers()) for backbone in (plain, saved))
    ours, theirs = ({k: v for k, v in held.items() if "num_batches" not in k} for held in buffers)
    torch.testing.assert_close(ours, theirs)


def test_crops_are_the_seeds_and_the_images_own() -> None:
    numbers = uniform_numbers((3, 0, 1, 7), np.arange(4000), 5)
    assert numbers.min() >= 0 and numbers.max() < 1
    np.testing.assert_allclose(numbers.mean(0), 0.5, atol=0.02)
    np.testing.assert_allclose(numbers.std(0), 12**-0.5, atol=0.01)
    assert np.abs(np.corrcoef(numbers.T) - np.eye(5)).max() < 0.06
    assert np.array_equal(uniform_numbers((3, 0, 1, 7), np.asarray([17, 5]), 5), numbers[[17, 5]])
    assert not np.array_equal(uniform_numbers((3, 0, 1, 8), np.arange(4), 5), numbers[:4])
    crops = Crops.drawn(torch.tensor([[0.0, 0.5, 0.0, 1.0, 0.2]]), least_area=0.25)
    # A quarter of the area, square, at the left and the bottom, mirrored.
    torch.testing.assert_close(crops.extent, torch.tensor([[0.5, 0.5]]))
    torch.testing.assert_close(crops.centre, torch.tensor([[-0.5, 0.5]]))
    assert crops.flipped.tolist() == [True]
    square = torch.arange(16, dtype=torch.uint8).view(1, 4, 4, 1).expand(-1, -1, -1, 3)
    assert resample(square, crops, 2)[0, 0].tolist() == [[9, 8], [13, 12]]
