"""Parts of the objectives without pairs: sums of losses, moved words, the fitted projection, two images in a batch."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.types import Batch
from tellapart.data.batches import Batches
from tellapart.data.concepts_column import IMAGE_CONCEPTS, IMAGE_SCORES, SENTENCE_CONCEPTS
from tellapart.data.feature_store import FeatureStore
from tellapart.data.join import CorpusFilter, join_unpaired
from tellapart.models.captioners.r2m import R2M
from tellapart.models.inputs import ModelInputs
from tellapart.objectives import project_images
from tellapart.objectives.concept_gan import ConceptGan
from tellapart.objectives.context import Context
from tellapart.objectives.noised_sentences import noised
from tellapart.objectives.project_images import PENALTIES, _pairs, fit_projection
from tellapart.objectives.pseudo_captions import PseudoCaptions
from tellapart.objectives.r2m_parts import greedy_captions
from tellapart.objectives.visual_alignment import VisualAlignment
from unpaired_packs import corpus_pack, image_pack

SMALL = R2M(width=16, key_width=8, value_width=8, dropout=0.0)


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    folder = tmp_path_factory.mktemp("unpaired")
    filters = CorpusFilter(least_count=1, held_out=0.0)
    pack = join_unpaired(image_pack(folder / "a"), corpus_pack(folder / "b"), folder / "c", filters=filters).pack
    store = FeatureStore(pack.feature_folder("vectors"))
    batches = Batches(pack, store, (IMAGE_CONCEPTS, SENTENCE_CONCEPTS, IMAGE_SCORES))
    return Context(pack, ModelInputs(pack.vocabulary, store.width), batches, store, torch.device("cpu"))


def images(context: Context, count: int = 6) -> Batch:
    return context.batches.images_and_captions(np.arange(count), np.zeros(0, np.int64))


def test_the_loss_of_uc_gan_is_the_sum_of_its_parts(context: Context) -> None:
    """Policy + lambda_sen repeating + adversary + lambda_im rebuilding; while the critic learns alone, the last two."""
    torch.manual_seed(0)
    config = ConceptGan(critic_width=8, longest=4, sentence_weight=0.7, image_weight=0.3, critic_first=1)
    objective = config.build(SMALL.build(context.inputs), context).train()
    for active in (0.0, 1.0):
        found = {name: value.item() for name, value in objective(images(context)).items()}
        critic = found["adversary"] + 0.3 * found["rebuilding"]
        captioner = found["policy"] + 0.7 * found["repeating"]
        assert found["rebuilding"] > 0.01 and found["repeating"] > 0.1
        assert found["loss"] == pytest.approx(critic + active * captioner, rel=1e-4)


def test_sampled_captions_are_compared_with_whole_greedy_ones(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first word on, without START."""
    torch.manual_seed(0)
    model = SMALL.build(context.inputs)
    objective = ConceptGan(critic_width=8, longest=4).build(model, context).train()
    given: list[Tensor] = []
    advantages = objective.advantages
    monkeypatch.setattr(
        objective, "advantages", lambda drawn, likeliest, *others: given.append(likeliest) or advantages(
            drawn, likeliest, *others
        ),
    )  # fmt: skip
    monkeypatch.setattr("tellapart.objectives.concept_gan.shuffled", lambda concepts: concepts)
    batch = images(context)
    objective(batch)
    vectors = model.encode(batch.images.columns[IMAGE_CONCEPTS].long())
    whole = greedy_captions(model, vectors, batch.images, 4)
    assert (whole[:, 0] == 1).all() and torch.equal(given[0], whole[:, 1:])


def test_words_are_sorted_by_their_place_plus_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four words with draws 0.9, 0.0, 0.5, 0.1, times places + 1 = 4: the keys 3.6, 1, 4 and 3.4 order them."""
    draws = iter([torch.tensor([[0.9, 0.0, 0.5, 0.1, 0.0]]), torch.tensor([[0.5, 0.05, 0.2, 0.5, 0.0]])])
    monkeypatch.setattr(torch, "rand", lambda *_, **__: next(draws))
    found = noised(torch.tensor([[10, 11, 12, 13, 2]]), places=3.0, dropped=0.1)
    assert found.tolist() == [[13, 10, 12, 2, 0]]  # 11 would come first, but its second draw is below 0.1


def test_no_word_is_left_out_with_probability_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw of exactly zero is possible."""
    monkeypatch.setattr(torch, "rand", lambda shape, **_: torch.zeros(shape))
    tokens = torch.tensor([[10, 11, 2, 0]])
    assert torch.equal(noised(tokens, dropped=0.0), tokens)


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_the_end_of_a_short_sentence_stays_behind_words_that_move_far(length: int) -> None:
    torch.manual_seed(0)
    tokens = torch.tensor([[*range(10, 10 + length), 2, 0]] * 200)
    found = noised(tokens, places=9.0, dropped=0.0)
    assert (found[:, length] == 2).all() and (found[:, length + 1] == 0).all()


def test_pseudo_captions_cost_a_mean_per_word(context: Context) -> None:
    """-(1/n) sum of ln p(word) over the words of all generated captions, END among them, as a loop finds it."""
    torch.manual_seed(0)
    teacher = SMALL.build(context.inputs).eval()
    context.models["teacher"] = teacher
    model = replace(SMALL, image_input=True).build(context.inputs).eval()
    batch = images(context)
    objective = PseudoCaptions("teacher", longest=4).build(model, context)
    assert objective.train().training and model.training and not teacher.training
    loss = objective.eval()(batch)["loss"].item()
    concepts = batch.images.columns[IMAGE_CONCEPTS]
    tokens = greedy_captions(teacher, teacher.encode(concepts), batch.images, 4)
    state, total, count = model.start(batch.images), 0.0, 0
    for time in range(tokens.shape[1] - 1):
        step = model.step(tokens[:, time], state)
        state = step.state
        for row, word in enumerate(tokens[:, time + 1].tolist()):
            if word:
                total, count = total - float(step.logits[row].detach().log_softmax(0)[word]), count + 1
    assert count > 6 and loss == pytest.approx(total / count, rel=1e-4)


def test_the_fitted_projection_is_ridge_regression(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """W = (X'X + penalty mean(variance) I)^-1 X'Y of centred X and Y, with the penalty whose projections have the
    largest mean cosine with the validation images' vectors. With these numbers it is neither the first nor the last."""
    random = torch.Generator().manual_seed(0)
    mixed = torch.randn(5, 4, generator=random, dtype=torch.double)
    seen = torch.randn(26, 5, generator=random, dtype=torch.double) + 2
    wanted = seen @ mixed + torch.randn(26, 4, generator=random, dtype=torch.double) + 3
    pairs = iter([(seen[:8], wanted[:8]), (seen[8:], wanted[8:])])  # training, then validation
    monkeypatch.setattr(project_images, "_pairs", lambda *_: next(pairs))
    weight, shift = fit_projection(SMALL.build(context.inputs), context)
    mean, centre = seen[:8].mean(0), wanted[:8].mean(0)
    centred = seen[:8] - mean
    square = centred.t() @ centred
    fits = []
    for penalty in PENALTIES:
        ridge = square + penalty * square.trace() / 5 * torch.eye(5, dtype=torch.double)
        found = torch.linalg.solve(ridge, centred.t() @ (wanted[:8] - centre))
        close = torch.nn.functional.cosine_similarity((seen[8:] - mean) @ found + centre, wanted[8:], dim=1)
        fits.append((float(close.mean()), found))
    place = max(range(len(fits)), key=lambda k: fits[k][0])
    assert 0 < place < len(fits) - 1
    torch.testing.assert_close(weight, fits[place][1].float(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(shift, (centre - mean @ fits[place][1]).float(), rtol=1e-4, atol=1e-5)


def test_the_smallest_of_equal_penalties_is_taken(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """A validation image with the mean features is projected to the centre by all of them."""
    random = torch.Generator().manual_seed(1)
    seen, wanted = (torch.randn(6, width, generator=random, dtype=torch.double) for width in (3, 4))
    pairs = iter([(seen, wanted), (seen.mean(0, keepdim=True), wanted[:1])])
    monkeypatch.setattr(project_images, "_pairs", lambda *_: next(pairs))
    weight, _ = fit_projection(SMALL.build(context.inputs), context)
    centred = seen - seen.mean(0)
    square = centred.t() @ centred
    ridge = square + PENALTIES[0] * square.trace() / 3 * torch.eye(3, dtype=torch.double)
    expected = torch.linalg.solve(ridge, centred.t() @ (wanted - wanted.mean(0)))
    torch.testing.assert_close(weight, expected.float(), rtol=1e-4, atol=1e-5)


def test_captions_that_all_find_their_images_are_100_percent(context: Context) -> None:
    model = SMALL.build(context.inputs).eval()
    objective = VisualAlignment(longest=3).build(model, context).eval()
    batch = images(context, 4)
    seen = torch.nn.functional.normalize(batch.images.pooled() @ objective.projection + objective.shift, dim=1)
    model.reconstruct = lambda hidden, lengths: seen  # type: ignore[method-assign]
    assert objective(batch)["retrieval"].item() == pytest.approx(100.0)


def test_no_images_are_no_pairs_to_fit(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Features and vectors of no image; without any to train on, fitting is rejected."""
    model = SMALL.build(context.inputs)
    features, vectors = _pairs(model, context, np.zeros(0, np.int64))
    assert features.shape == (0, 6) and vectors.shape == (0, 16)
    monkeypatch.setattr(project_images, "_pairs", lambda *_: (features, vectors))
    with pytest.raises(InputError, match="nothing to fit"):
        fit_projection(model, context)


def test_two_images_are_one_negative_each(context: Context) -> None:
    """A constant costs two margins, however few images a batch has."""
    model = SMALL.build(context.inputs).eval()
    objective = VisualAlignment(longest=3).build(model, context).eval()

    def constant(hidden: Tensor, lengths: Tensor) -> Tensor:
        return torch.zeros(len(hidden), model.width)

    model.reconstruct = constant  # type: ignore[method-assign]
    assert objective(images(context, 2))["violation"].item() == pytest.approx(0.4)
    assert objective(images(context, 5))["violation"].item() == pytest.approx(0.4)
