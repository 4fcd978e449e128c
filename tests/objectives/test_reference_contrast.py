"""Contrastive learning: which mismatched captions are drawn, what the reference is asked, and that it resumes."""

import copy
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.models.captioners.adaptive_attention import AdaptiveAttention
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.models.decoding import log_prob
from tellapart.objectives.context import Context
from tellapart.objectives.mismatched import MismatchedImages, captions_of
from tellapart.objectives.reference_contrast import ReferenceContrastLearning, ReferenceContrastObjective
from tiny_world import tiny_context

NEURALTALK = NeuralTalk2(hidden=8, dropout=0.0)


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return tiny_context(tmp_path)


def built(context: Context, **settings: object) -> ReferenceContrastObjective:
    """Target and reference with the same weights, and no dropout."""
    torch.manual_seed(0)
    model = NEURALTALK.build(context.inputs)
    context.models["mle"] = copy.deepcopy(model)
    return ReferenceContrastLearning(reference="mle", **settings).build(model, context)


def test_identical_models_start_at_two_ln_two(context: Context) -> None:
    """J = 2 ln(1/2) a pair, yet the gradient is not zero (paper 1, section 4.3)."""
    objective = built(context).train()
    figures = objective(context.batches.batch(context.pack.split("train").captions[:6]))
    assert figures["loss"].item() == pytest.approx(2 * math.log(2), abs=1e-5)
    figures["loss"].backward()
    assert sum(float(parameter.grad.abs().sum()) for parameter in objective.model.parameters()) > 1e-3
    assert all(parameter.grad is None for parameter in objective.reference.parameters())


def test_no_round_is_rejected(context: Context) -> None:
    """Without mismatched pairs CL would silently be CL(P)."""
    with pytest.raises(InputError, match="rounds must be at least 1, not 0"):
        built(context, rounds=0)


@pytest.mark.parametrize(("parts", "pairs"), [("both", 2), ("positive", 1), ("negative", 1)])
def test_parts(context: Context, parts: str, pairs: int) -> None:
    objective = built(context, parts=parts).train()
    loss = objective(context.batches.batch(context.pack.split("train").captions[:6]))["loss"]
    assert loss.item() == pytest.approx(pairs * math.log(2), abs=1e-5)


def test_loss_equals_pair_by_pair(context: Context) -> None:
    """Another target than reference: Eq. 10 with every pair scored alone."""
    objective = built(context, rounds=3).train()
    torch.manual_seed(5)
    for parameter in objective.model.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    batch = context.batches.images_and_captions(context.pack.split("train").images[:3])
    texts, owner = {}, {}

    def remember(found: tuple) -> tuple:
        texts["all"], owner["all"] = found
        return found

    original = objective.mismatched_texts
    objective.mismatched_texts = lambda batch: remember(original(batch))  # type: ignore[method-assign]
    loss = objective(batch)["loss"].item()

    def g(tokens: torch.Tensor, image_row: int) -> float:
        image = batch.images.select(torch.tensor([image_row]))
        tokens = tokens[: int((tokens != 0).sum())].unsqueeze(0)
        return float(log_prob(objective.model, image, tokens) - log_prob(objective.reference, image, tokens))

    true = [g(tokens, int(own)) for tokens, own in zip(batch.texts.tokens, batch.owner)]
    wrong = [g(tokens, int(own)) for tokens, own in zip(texts["all"].tokens, owner["all"])]
    expected = -np.mean([math.log(1 / (1 + math.exp(-x))) for x in true])
    expected -= np.mean([math.log(1 - 1 / (1 + math.exp(-x))) for x in wrong])
    assert len(wrong) == 3 * len(true)
    assert loss == pytest.approx(expected, rel=1e-4)


def test_mismatched_captions_are_whole_other_images(context: Context) -> None:
    """K = 5 other images a slot, all captions of each, none of the slot's own."""
    objective = built(context).train()
    batch = context.batches.images_and_captions(context.pack.split("train").images[:4])
    _, owner = objective.mismatched_texts(batch)
    assert torch.bincount(owner).tolist() == [10, 10, 10, 10]


@pytest.mark.parametrize("training", [True, False])
def test_mismatched_captions_stay_with_the_image_they_were_drawn_for(
    context: Context, training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Round by round and image by image, slot s holds the captions of the image drawn for batch image s modulo I. A
    caption at another image's place could be that image's own, and CL would make a true pair less likely."""
    objective = built(context, rounds=3).train(training)
    images = context.pack.split("train").images[[3, 0, 5]]
    batch = context.batches.images_and_captions(images)
    asked: list[np.ndarray] = []
    drawn: list[np.ndarray] = []
    texts, draw, fixed = context.batches.texts, objective.mismatched.draw, objective._fixed
    monkeypatch.setattr(context.batches, "texts", lambda rows: asked.append(rows) or texts(rows))
    monkeypatch.setattr(objective.mismatched, "draw", lambda own: drawn.append(found := draw(own)) or found)
    monkeypatch.setattr(objective, "_fixed", lambda own: drawn.append(found := fixed(own)) or found)
    for _ in range(20):
        _, owner = objective.mismatched_texts(batch)
        sources = context.pack.owner[asked[-1]]  # the image that each caption describes
        wanted = [(int(other), slot % 3) for slot, other in enumerate(drawn[-1]) for _ in range(2)]
        assert list(zip(sources.tolist(), owner.tolist())) == wanted
        assert not (sources == images[owner.numpy()]).any()


def test_fixed_images_of_validation_are_never_the_own(context: Context) -> None:
    objective = built(context)
    own = np.tile(objective.images, 50)
    others = objective._fixed(own)
    assert not (others == own).any() and set(others.tolist()) <= set(objective.images.tolist())


def test_walk_serves_all_before_any_again() -> None:
    images = np.arange(10, 22)
    walk = MismatchedImages(images)
    stranger = torch.full((4,), 99)
    drawn = torch.cat([walk.draw(stranger) for _ in range(3)])
    assert sorted(drawn.tolist()) == images.tolist()
    again = torch.cat([walk.draw(stranger) for _ in range(3)])
    assert sorted(again.tolist()) == images.tolist()


def test_walk_never_gives_a_image_to_itself() -> None:
    walk = MismatchedImages(np.arange(3))
    own = torch.tensor([0, 1, 2, 0, 1, 2])
    for _ in range(50):
        assert not (walk.draw(own) == own).any()


def test_walk_needs_two_images() -> None:
    assert MismatchedImages(np.arange(2)).draw(torch.tensor([0, 1])).tolist() == [1, 0]
    with pytest.raises(InputError, match="at least two images"):
        MismatchedImages(np.arange(1))


def test_walk_resumes() -> None:
    torch.manual_seed(3)
    walk = MismatchedImages(np.arange(9))
    walk.draw(torch.tensor([1, 2, 3, 4, 5]))
    other = MismatchedImages(np.arange(9))
    other.load_state_dict(walk.state_dict())
    state = torch.get_rng_state()
    first = [walk.draw(torch.tensor([0, 0, 0, 0, 0])).tolist() for _ in range(4)]
    torch.set_rng_state(state)
    assert first == [other.draw(torch.tensor([0, 0, 0, 0, 0])).tolist() for _ in range(4)]


def test_captions_of_takes_what_there_is(context: Context) -> None:
    rows, slots = captions_of(context.pack, np.array([3, 5]), np.array([9, 1]))
    assert slots.tolist() == [0, 0, 1]
    assert context.pack.owner[rows].tolist() == [3, 3, 5]


def test_all_captions_of_an_image_keep_their_order(context: Context) -> None:
    """A random first caption is for images that have more than are asked for."""
    for _ in range(20):
        rows, _ = captions_of(context.pack, np.array([3]), np.array([2]))
        assert rows.tolist() == context.pack.captions_of[3]
    firsts = {int(captions_of(context.pack, np.array([3]), np.array([1]))[0][0]) for _ in range(40)}
    assert firsts == set(context.pack.captions_of[3])


def test_reference_is_asked_once_about_true_pairs(context: Context) -> None:
    objective = built(context).train()
    captions = context.pack.split("train").captions
    objective(context.batches.batch(captions[:4]))
    objective(context.batches.batch(captions[4:9]))
    known = objective.known.clone()
    assert not known[captions[:9]].isnan().any() and known[captions[9:]].isnan().all()
    batch = context.batches.batch(captions[2:7])
    expected = log_prob(objective.reference, batch.images, batch.texts.tokens, batch.owner)
    torch.testing.assert_close(known[batch.caption_rows], expected, atol=1e-5, rtol=1e-5)
    asked: list[torch.Tensor] = []
    original = objective._reference
    objective._reference = lambda *about: asked.append(about[1]) or original(*about)  # type: ignore[func-returns-value, method-assign]
    objective(batch)
    assert len(asked) == 1  # about the mismatched captions only


def test_modes(context: Context) -> None:
    """Training turns dropout on in the target only; validation neither moves the walk nor needs the table."""
    objective = built(context).train()
    assert objective.model.training and not objective.reference.training
    objective.eval()
    before = objective.mismatched.position.clone()
    batch = context.batches.batch(context.pack.split("val").captions)
    first, second = objective(batch)["loss"], objective(batch)["loss"]
    assert torch.equal(first, second) and torch.equal(before, objective.mismatched.position)


def test_reference_of_another_architecture(context: Context) -> None:
    context.models["aa"] = AdaptiveAttention(hidden=8, attention=8).build(context.inputs)
    objective = ReferenceContrastLearning("aa").build(NEURALTALK.build(context.inputs), context).train()
    figures = objective(context.batches.batch(context.pack.split("train").captions[:6]))
    assert torch.isfinite(figures["loss"])


def test_another_vocabulary_is_rejected(context: Context) -> None:
    from tellapart.text.vocabulary import Vocabulary

    other = Vocabulary.from_words(["else"])
    stranger = replace(context, load_run=lambda name: (NEURALTALK.build(context.inputs), other))
    with pytest.raises(InputError, match="another vocabulary"):
        ReferenceContrastLearning("runs/other").build(NEURALTALK.build(context.inputs), stranger)
