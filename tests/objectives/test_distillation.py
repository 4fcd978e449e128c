"""Attention supervision: what is supervised, by what, and that it teaches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from grounded_world import grounded_context
from tellapart.core.errors import InputError
from tellapart.core.types import Batch
from tellapart.losses.attention import ATTENTION_LOSSES
from tellapart.metrics.grounding.boxes import overlap
from tellapart.models.captioners.adaptive_attention import AdaptiveAttention
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.models.captioners.up_down import UpDown
from tellapart.models.matchers.scan import SCAN
from tellapart.models.matchers.word_attention import word_attention
from tellapart.objectives.attention_supervision import BoxAttention, TeacherAttention, overlaps
from tellapart.objectives.context import Context
from tellapart.objectives.distillation import Distillation, DistillationObjective

UP_DOWN = UpDown(hidden=16, attention=8, dropout=0.0)


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    made = grounded_context(tmp_path_factory.mktemp("grounded") / "pack")
    torch.manual_seed(0)
    teachers = {name: SCAN(16, 8, nouns=name == "pos-scan").build(made.inputs).eval() for name in ("scan", "pos-scan")}
    yield replace(made, models=teachers)


def whole(context: Context, split: str = "train") -> Batch:
    return context.batches.batch(context.pack.split(split).captions)


def objective(context: Context, config: Distillation, model: object = UP_DOWN) -> DistillationObjective:
    torch.manual_seed(1)
    return config.build(model.build(context.inputs), context)  # type: ignore[attr-defined]


def test_only_nouns_are_supervised(context: Context) -> None:
    """The first captions: "a dog watches two men", "men see a dog in a park", "they run fast" (no noun at all)."""
    targets = TeacherAttention(context, "pos-scan")(whole(context), training=True)
    first = targets.caption < 3
    places = list(zip(targets.caption[first].tolist(), targets.position[first].tolist()))
    assert places == [(0, 1), (0, 4), (1, 0), (1, 3), (1, 6)]
    assert torch.allclose(targets.weights.sum(-1), torch.ones(len(targets.weights)), atol=2e-3)


@pytest.mark.parametrize("teacher", ["scan", "pos-scan"])
def test_stored_attention_is_the_teachers(context: Context, teacher: str) -> None:
    batch = whole(context)
    stored, asked = (TeacherAttention(context, teacher, stored)(batch, training=True) for stored in (True, False))
    assert torch.equal(stored.caption, asked.caption) and torch.equal(stored.position, asked.position)
    assert torch.allclose(stored.weights, asked.weights, atol=1e-3)
    direct = word_attention(context.model(teacher), batch.images, batch.texts, batch.owner)
    # The word at place p of a caption is token p + 1 of the padded sentence, after START.
    assert torch.allclose(asked.weights, direct[asked.caption, asked.position + 1], atol=1e-6)


def test_teacher_knows_other_splits_too(context: Context) -> None:
    targets = TeacherAttention(context, "pos-scan")(whole(context, "val"), training=False)
    assert len(targets.caption) == 10


def test_true_boxes_mark_right_regions(context: Context) -> None:
    """Regions: left half, right half, everything, a corner. The dog is left, the men right.

    Overlaps of the left box: 1 with the left half, over 1/2 with everything (251 of 501 pixels at long side 500:
    0.501, and that is over 0.5), little with the right half.
    """
    targets = BoxAttention(context)(whole(context), training=True)
    first = targets.caption == 0
    assert targets.position[first].tolist() == [1, 4]
    assert targets.correct[first].tolist() == [[True, False, True, False], [False, True, True, False]]
    assert targets.weights[first].argmax(-1).tolist() == [0, 1]
    assert torch.allclose(targets.weights.sum(-1), torch.ones(len(targets.weights)))


def test_true_boxes_give_padding_no_weight(context: Context) -> None:
    """Without its last region, which overlaps the dog a little, an image has softmax(overlap / 0.5) over the other
    three, and padding neither weighs nor is correct."""
    batch = whole(context)
    mask = batch.images.mask.clone()
    mask[:, 3] = False
    found = BoxAttention(context)(replace(batch, images=replace(batch.images, mask=mask)), training=True)
    every = BoxAttention(context)(batch, training=True).weights
    assert torch.equal(found.weights[:, 3], torch.zeros(len(found.weights))) and not found.correct[:, 3].any()
    assert torch.allclose(found.weights[:, :3], every[:, :3] / every[:, :3].sum(1, keepdim=True))


def test_half_an_overlap_is_not_correct(context: Context) -> None:
    """Eq. 16 asks for more than 0.5. In pixels: a true box of 10 x 10 in regions of 10 x 20, 10 x 19 and itself."""
    attention, batch = BoxAttention(context), whole(context)
    attention.sizes = torch.ones_like(attention.sizes)
    attention.boxes = torch.tensor([0.0, 0.0, 9.0, 9.0]).expand_as(attention.boxes)
    regions = torch.tensor(
        [[0.0, 0.0, 9.0, 19.0], [0.0, 0.0, 9.0, 18.0], [0.0, 0.0, 9.0, 9.0], [50.0, 50.0, 60.0, 60.0]]
    )
    images = replace(batch.images, boxes=regions.expand(len(batch.images), -1, -1))
    found = attention(replace(batch, images=images), training=True)
    assert found.correct.tolist() == [[False, True, True, False]] * len(found.caption)


def test_boxes_that_a_word_does_not_have_are_not_met(context: Context) -> None:
    """Words have one or two boxes, the second one far from all regions: padding would be a box at the origin."""
    attention, batch = BoxAttention(context), whole(context)
    attention.sizes = torch.ones_like(attention.sizes)
    boxes = torch.tensor([[20.0, 20.0, 29.0, 29.0], [0.0, 0.0, 9.0, 9.0]])
    attention.boxes = boxes.expand(len(attention.boxes), 2, 4)
    attention.mask = torch.tensor([[True, word % 2 == 0] for word in range(len(attention.boxes))])
    regions = torch.tensor([[0.0, 0.0, 9.0, 9.0], [20.0, 20.0, 29.0, 29.0], [50.0, 50.0, 60.0, 60.0]])
    mask = torch.ones(len(batch.images), 3, dtype=torch.bool)
    images = replace(batch.images, boxes=regions.expand(len(batch.images), -1, -1), mask=mask)
    found = attention(replace(batch, images=images), training=True)
    places = context.pack.offsets[batch.caption_rows[found.caption].numpy()] + found.position.numpy()
    words = attention.row[torch.from_numpy(places)]
    assert found.correct.tolist() == [[int(word) % 2 == 0, True, False] for word in words]


def test_words_that_the_teacher_ignores_are_not_supervised(context: Context) -> None:
    """A row without attention is no distribution: the third noun of all, "men" of the second caption, is left out."""
    attention = TeacherAttention(context, "scan", stored=False)
    batch = whole(context)
    every = attention(batch, training=True)
    asked = attention._attention

    def ignoring(read: Batch) -> torch.Tensor:
        weights = asked(read).clone()
        weights[every.caption[2], every.position[2]] = 0
        return weights

    attention._attention = ignoring  # type: ignore[method-assign]
    found = attention(batch, training=True)
    left = [place for place in range(len(every.caption)) if place != 2]
    assert torch.equal(found.caption, every.caption[left]) and torch.equal(found.position, every.position[left])


def test_the_nouns_of_the_training_split_are_stored(context: Context) -> None:
    """Every other word has row -1, which is none."""
    attention = TeacherAttention(context, "pos-scan")
    attention(whole(context), training=True)
    assert attention.row is not None
    stored = set((attention.row >= 0).nonzero().flatten().tolist())
    last = int(context.pack.offsets[context.pack.split("train").captions[-1] + 1])
    assert stored == {place for place in range(last) if attention.nouns[place]}
    assert set(attention.row[last:].tolist()) == {-1}


def test_overlaps_equal_the_metric() -> None:
    random = np.random.default_rng(0)
    first, second = (np.sort(random.uniform(0, 400, (3, n, 2, 2)), axis=2).reshape(3, n, 4) for n in (4, 2))
    expected = overlap(first[:, :, None], second[:, None])
    assert np.allclose(overlaps(torch.from_numpy(first), torch.from_numpy(second)).numpy(), expected)


@pytest.mark.parametrize("loss", list(ATTENTION_LOSSES))
@pytest.mark.parametrize("teacher", ["boxes", "scan"])
def test_loss_is_likelihood_plus_weighted_attention(context: Context, loss: str, teacher: str) -> None:
    """With lambda_1 = 0 the loss is the likelihood's; with 2 it is that plus twice the attention's."""
    batch = whole(context)
    plain = objective(context, Distillation(teacher, loss, weight=0.0))(batch)
    heavy = objective(context, Distillation(teacher, loss, weight=2.0))(batch)
    assert plain["loss"].item() == pytest.approx(plain["words"].item())
    assert heavy["loss"].item() == pytest.approx((plain["words"] + 2 * heavy["attention"]).item(), rel=1e-5)


def test_means_differ_by_the_share_of_nouns(context: Context) -> None:
    batch = whole(context)
    words = objective(context, Distillation("pos-scan"))(batch)["attention"].item()
    nouns = objective(context, Distillation("pos-scan", mean_over="supervised"))(batch)["attention"].item()
    count = len(TeacherAttention(context, "pos-scan")(batch, training=True).caption)
    assert words * int((batch.texts.tokens[:, 1:] != 0).sum()) == pytest.approx(nouns * count, rel=1e-4)


def test_a_batch_without_nouns_teaches_words_only(context: Context) -> None:
    batch = context.batches.batch(np.asarray([2, 5]))
    for teacher in ("boxes", "pos-scan"):
        for mean_over in ("words", "supervised"):
            found = objective(context, Distillation(teacher, mean_over=mean_over))(batch)
            assert found["attention"].item() == 0 and found["loss"].isfinite()


@pytest.mark.parametrize(
    "model", [UP_DOWN, AdaptiveAttention(hidden=16, attention=8, dropout=0.0, attention_dropout=0.0)]
)
@pytest.mark.parametrize(("teacher", "loss"), [("boxes", "nll"), ("pos-scan", "kl"), ("pos-scan", "kl-teacher-first")])
def test_attention_is_learned(context: Context, model: object, teacher: str, loss: str) -> None:
    learner = objective(context, Distillation(teacher, loss, weight=1.0), model)
    optimiser = torch.optim.Adam(learner.parameters(), 0.02)
    batch = whole(context)
    before = learner(batch)["attention"].item()
    for _ in range(25):
        optimiser.zero_grad()
        found = learner(batch)
        found["loss"].backward()
        optimiser.step()
    assert found["attention"].item() < 0.7 * before
    assert (
        all(parameter.grad is None for parameter in context.models[teacher].parameters())
        if teacher != "boxes"
        else True
    )


def test_teacher_is_no_part_of_what_is_saved(context: Context) -> None:
    names = objective(context, Distillation("pos-scan")).state_dict()
    assert all(name.startswith(("model.", "likelihood.")) for name in names)


def test_what_cannot_be_supervised_is_rejected(context: Context) -> None:
    with pytest.raises(InputError, match="Unknown attention loss"):
        objective(context, Distillation(loss="l2"))
    with pytest.raises(InputError, match="mean_over must be"):
        objective(context, Distillation(mean_over="pictures"))
    with pytest.raises(InputError, match="has no attention to supervise"):
        objective(context, Distillation("boxes"), NeuralTalk2(hidden=16))(whole(context))
    attention = BoxAttention(context)
    batch = whole(context)
    with pytest.raises(InputError, match="grid or regions"):
        attention(replace(batch, images=replace(batch.images, boxes=None)), training=True)


def test_a_pack_without_noun_marks_is_rejected(tmp_path: Path, context: Context) -> None:
    bare = grounded_context(tmp_path / "pack")
    (bare.pack.folder / "columns" / "nouns.npy").unlink()
    with pytest.raises(InputError, match="noun marks"):
        TeacherAttention(replace(bare, models=context.models), "scan")


@pytest.mark.parametrize("teacher", ["pos-scan", "boxes"])
@pytest.mark.parametrize("mean_over", ["words", "supervised"])
def test_rows_that_fill_up_change_nothing(context: Context, teacher: str, mean_over: str) -> None:
    learned = objective(context, Distillation(teacher, mean_over=mean_over)).eval()
    batch = whole(context)
    targets = learned.attention(batch, False)
    assert len(targets.padded(128).caption) % 128 == 0 and targets.padded(128).real.sum() == len(targets.caption)
    bare, filled = (learned(batch, (made,)) for made in (targets, targets.padded(128)))
    for name, value in bare.items():
        torch.testing.assert_close(filled[name], value)
