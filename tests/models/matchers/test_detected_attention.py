"""Attention kept to what a detector found."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from grounded_world import grounded_context
from tellapart.core.errors import InputError
from tellapart.core.files import save_array
from tellapart.core.types import Encoded, Images, Texts
from tellapart.data.feature_store import FeatureStore
from tellapart.evaluation.grounding import evaluate_grounding
from tellapart.models.captioners.up_down import UpDown
from tellapart.models.matchers.detected_attention import DetectedAttention
from tellapart.models.matchers.scan import SCAN
from tellapart.objectives.attention_supervision import TeacherAttention
from tellapart.objectives.context import Context
from tellapart.objectives.distillation import Distillation

SCORES = np.asarray([[0.8, 0.2, 0.0, 0.0]] * 7 + [[0.0] * 4], dtype=np.float32)
"""Of eight images' regions: two are detections, two fill up; in the last image nothing was detected."""
CPU = torch.device("cpu")


@pytest.fixture
def detected(tmp_path: Path) -> Context:
    context = grounded_context(tmp_path / "pack")
    assert context.store is not None
    save_array(context.store.folder / "scores.npy", SCORES.reshape(-1))
    return context


def test_by_hand(detected: Context) -> None:
    """Attention .1 .3 .4 .2 of a word: among detections 1/4 and 3/4; times scores .08 and .06, which is 4/7 and 3/7."""
    attention, images = torch.tensor([[0.1, 0.3, 0.4, 0.2]]), torch.tensor([0])
    expected = {
        "all": [0.1, 0.3, 0.4, 0.2],
        "detected": [0.25, 0.75, 0.0, 0.0],
        "sure": [4 / 7, 3 / 7, 0.0, 0.0],
    }
    for among, values in expected.items():
        found = DetectedAttention(among, detected.store, CPU)(attention, images)
        torch.testing.assert_close(found, torch.tensor([values]))


def test_words_look_on_where_nothing_is_left(detected: Context) -> None:
    """Nothing detected; nothing detected attended to; a word that is passed over."""
    attention = torch.tensor([[0.1, 0.3, 0.4, 0.2], [0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0]])
    for among in ("detected", "sure"):
        found = DetectedAttention(among, detected.store, CPU)(attention, torch.tensor([7, 0, 0]))
        torch.testing.assert_close(found, attention)


def test_a_teacher_points_at_detections(detected: Context) -> None:
    torch.manual_seed(0)
    detected.models["pos-scan"] = SCAN(16, 8, nouns=True).build(detected.inputs).eval()
    batch = detected.batches.batch(detected.pack.split("train").captions)
    everywhere, among = (
        TeacherAttention(detected, "pos-scan", among=kind)(batch, True) for kind in ("all", "detected")
    )
    assert (everywhere.weights[:, 2:] > 0).any() and not among.weights[:, 2:].any()
    assert torch.allclose(among.weights.sum(-1), everywhere.weights.sum(-1), atol=1e-5)
    assert torch.equal(among.caption, everywhere.caption)
    assert not among.correct[:, 2:].any() and among.correct.any(-1).all()


def test_stored_and_asked_a_teacher_points_the_same_way(detected: Context) -> None:
    torch.manual_seed(0)
    detected.models["pos-scan"] = SCAN(16, 8, nouns=True).build(detected.inputs).eval()
    batch = detected.batches.batch(detected.pack.split("train").captions)
    stored, asked = (
        Distillation("pos-scan", among="sure", stored=stored)
        .build(UpDown(hidden=8, attention=8).build(detected.inputs), detected)
        .attention(batch, True)
        for stored in (True, False)
    )
    assert torch.allclose(stored.weights, asked.weights, atol=2e-3) and not asked.weights[:, 2:].any()


def test_images_may_have_unlike_numbers_of_regions(detected: Context) -> None:
    """The first image keeps three of its regions; a batch of it alone has three places."""
    assert detected.store is not None
    save_array(detected.store.folder / "offsets.npy", np.concatenate([[0], 3 + 4 * np.arange(8)]))
    save_array(detected.store.folder / "scores.npy", np.delete(SCORES.reshape(-1), 3))
    trusted = DetectedAttention("detected", FeatureStore(detected.store.folder), CPU)
    three = trusted(torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([0]))
    torch.testing.assert_close(three, torch.tensor([[2 / 3, 1 / 3, 0.0]]))
    four = trusted(torch.full((1, 4), 0.25), torch.tensor([1]))
    torch.testing.assert_close(four, torch.tensor([[0.5, 0.5, 0.0, 0.0]]))


class LooksIntoACorner(nn.Module):
    """Most at the corner, then to the left, whatever the word."""

    def encode_image(self, images: Images) -> Encoded:
        return Encoded(images.features, images.mask)

    def encode_text(self, texts: Texts) -> Encoded:
        return Encoded(texts.tokens.unsqueeze(-1).float(), texts.mask)

    def attend(self, images: Encoded, texts: Encoded) -> torch.Tensor:
        return torch.tensor([0.3, 0.1, 0.0, 0.6]).expand(*texts.vectors.shape[:2], 4)


def test_a_matchers_accuracy_is_measured_among_detections_too(detected: Context) -> None:
    """The corner is never right. Among detections it looks left, where the dog is, and the men are not."""
    figures = evaluate_grounding(LooksIntoACorner(), detected, "val")
    assert figures["attention_accuracy"] == 0
    assert figures["attention_accuracy_detected"] == figures["attention_accuracy_sure"] == 50


def test_bad_input(tmp_path: Path) -> None:
    context = grounded_context(tmp_path / "pack")
    with pytest.raises(InputError, match="among must be one of all, detected, sure, not 'best'"):
        DetectedAttention("best", context.store, CPU)
    with pytest.raises(InputError, match="needs regions that a detector found"):
        DetectedAttention("sure", context.store, CPU)
    assert context.store is not None
    save_array(context.store.folder / "scores.npy", np.zeros(32, np.float32))
    with pytest.raises(InputError, match="needs regions that a detector found"):
        DetectedAttention("detected", FeatureStore(context.store.folder), CPU)
    with pytest.raises(InputError, match="among=sure applies to a matcher's attention"):
        Distillation("boxes", among="sure").build(UpDown(hidden=8, attention=8).build(context.inputs), context)
