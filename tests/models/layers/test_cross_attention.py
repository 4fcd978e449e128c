"""Cross attention in blocks against a loop over pairs and words that builds every attended vector."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.recording import recorded
from tellapart.core.types import Encoded
from tellapart.models.layers.cross_attention import AGGREGATIONS, Attention, attention_weights, cross_attention
from tellapart.models.matchers.scores import cosine


def naive_weights(contexts: Tensor, queries: Tensor, attention: Attention) -> Tensor:
    """alpha [X, Y] of one pair."""
    raw = torch.nn.functional.leaky_relu(contexts @ queries.t(), attention.leak)
    norm = raw.square().sum(1, keepdim=True).clamp(min=1e-30).sqrt() + 1e-8
    return torch.softmax(attention.temperature * raw / norm, 0)


def naive_score(regions: Tensor, words: Tensor, attention: Attention, counted: Tensor | None = None) -> Tensor:
    """Of one pair; all words look, and those that are `counted` make up the score."""
    counted = torch.ones(len(words), dtype=torch.bool) if counted is None else counted
    contexts, queries = (regions, words) if attention.direction == "t2i" else (words[counted], regions)
    weights = naive_weights(contexts, queries, attention)
    cosines = []
    for step, query in enumerate(queries):
        if attention.direction == "t2i" and not counted[step]:
            continue
        attended = sum(weight * vector for weight, vector in zip(weights[:, step], contexts))
        cosines.append(query @ attended / (query.norm() * attended.norm()).clamp(min=1e-8))  # type: ignore[operator]
    found = torch.stack(cosines)
    if attention.aggregation == "logsumexp":
        return torch.logsumexp(attention.sharpness * found, 0) / attention.sharpness
    return {"mean": found.mean(), "sum": found.sum(), "max": found.max()}[attention.aggregation]


def naive_scores(images: Encoded, texts: Encoded, attention: Attention) -> Tensor:
    rows = []
    for i in range(len(images)):
        pairs = [
            naive_score(
                images.vectors[i][images.mask[i]],  # type: ignore[index]
                texts.vectors[j][texts.mask[j]],  # type: ignore[index]
                attention,
                None if texts.counted is None else texts.counted[j][texts.mask[j]],  # type: ignore[index]
            )
            for j in range(len(texts))
        ]
        rows.append(torch.stack(pairs))
    return torch.stack(rows)


def random_pair(seed: int, image_rows: int = 3, sentences: int = 4, nouns: bool = False) -> tuple[Encoded, Encoded]:
    """Random sets; with `nouns`, about half of each sentence's words count, and at least one."""
    generator = torch.Generator().manual_seed(seed)

    def some(count: int, longest: int) -> Encoded:
        vectors = torch.randn(count, longest, 5, generator=generator, dtype=torch.float64)
        mask = torch.rand(count, longest, generator=generator) > 0.4
        mask[:, int(torch.randint(longest, (1,), generator=generator))] = True
        return Encoded(vectors, mask)

    images, texts = some(image_rows, 4), some(sentences, 5)
    if not nouns:
        return images, texts
    assert texts.mask is not None
    counted = texts.mask & (torch.rand(texts.mask.shape, generator=generator) > 0.5)
    first = torch.nn.functional.one_hot(texts.mask.long().argmax(1), 5).bool()
    return images, Encoded(texts.vectors, texts.mask, counted | (first & ~counted.any(1, keepdim=True)))


@pytest.mark.parametrize(("direction", "aggregation"), list(itertools.product(("t2i", "i2t"), AGGREGATIONS)))
@settings(max_examples=5, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    leak=st.sampled_from([0.0, 0.1]),
    block=st.sampled_from([1, 40, 10_000]),
    nouns=st.booleans(),
)
def test_scores_and_gradients_against_the_loop(
    direction: str, aggregation: str, seed: int, leak: float, block: int, nouns: bool
) -> None:
    images, texts = random_pair(seed, nouns=nouns)
    attention = Attention(direction, 5.0, aggregation, 6.0, leak)
    leaves = (images.vectors.requires_grad_(), texts.vectors.requires_grad_())
    found, expected = cross_attention(images, texts, attention, block), naive_scores(images, texts, attention)
    assert torch.allclose(found, expected, atol=1e-9)
    slope = torch.randn(found.shape, dtype=found.dtype, generator=torch.Generator().manual_seed(seed))
    ours = torch.autograd.grad(found, leaves, slope)
    theirs = torch.autograd.grad(expected, leaves, slope)
    assert all(torch.allclose(a, b, atol=1e-8) for a, b in zip(ours, theirs))


@pytest.mark.parametrize(("direction", "aggregation"), list(itertools.product(("t2i", "i2t"), AGGREGATIONS)))
def test_a_recorded_step_gives_the_same_scores_and_gradients(direction: str, aggregation: str) -> None:
    """Its sets are not sorted by size, which it cannot know; what is masked still counts nothing."""
    images, texts = random_pair(3, nouns=True)
    attention = Attention(direction, 5.0, aggregation, 6.0)
    leaves = (images.vectors.requires_grad_(), texts.vectors.requires_grad_())
    expected = cross_attention(images, texts, attention)
    with recorded():
        found = cross_attention(images, texts, attention)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-7)
    slope = torch.randn(found.shape, dtype=found.dtype, generator=torch.Generator().manual_seed(0))
    with recorded():
        ours = torch.autograd.grad(found, leaves, slope)
    for own, plain in zip(ours, torch.autograd.grad(expected, leaves, slope)):
        torch.testing.assert_close(own, plain, atol=1e-8, rtol=1e-6)


def test_worked_by_hand() -> None:
    """One word (1, 0), regions (1, 0) and (0, 1): s = (1, 0), each row's norm over the one word makes it (1, 0).

    With temperature log 3 the weights are 3/4 and 1/4, the attended vector (.75, .25), and the cosine
    .75 / sqrt(.75^2 + .25^2) = 3 / sqrt(10).
    """
    images = Encoded(torch.eye(2).unsqueeze(0))
    texts = Encoded(torch.tensor([[[1.0, 0.0]]]))
    attention = Attention(temperature=float(torch.tensor(3.0).log()))
    assert cross_attention(images, texts, attention).item() == pytest.approx(3 / 10**0.5, rel=1e-6)
    assert attention_weights(images, texts, attention)[0, 0].tolist() == pytest.approx([0.75, 0.25], rel=1e-6)


def test_what_does_not_count_still_scales() -> None:
    """Eqs. 5 and 8 by hand: words (1, 0) and (.6, .8), regions (1, 0) and (0, 1); only the first word is a noun.

    Region one is like the words by 1 and .6, region two by 0 and .8: scaled over both words, the noun's share is
    1 / sqrt(1.36) of the first region and 0 of the second. With temperature sqrt(1.36) log 3 the weights are 3/4
    and 1/4, as if the noun were alone at log 3. Filtered beforehand, it is alone: 1 and 0 at that temperature.
    """
    images = Encoded(torch.eye(2).unsqueeze(0))
    words = torch.tensor([[[1.0, 0.0], [0.6, 0.8]]])
    noun, everything = torch.tensor([[True, False]]), torch.tensor([[True, True]])
    attention = Attention(temperature=1.36**0.5 * math.log(3))
    texts = Encoded(words, everything, noun)
    assert cross_attention(images, texts, attention).item() == pytest.approx(3 / 10**0.5, rel=1e-6)
    weights = attention_weights(images, texts, attention)[0]
    assert weights[0].tolist() == pytest.approx([0.75, 0.25], rel=1e-6)
    assert weights[1].tolist() == [0, 0]
    alone = attention_weights(images, Encoded(words, noun), attention)[0, 0]
    assert alone[0].item() == pytest.approx(3 ** (1.36**0.5) / (1 + 3 ** (1.36**0.5)), rel=1e-6)


@pytest.mark.parametrize("nouns", [False, True])
@pytest.mark.parametrize(("direction", "aggregation"), list(itertools.product(("t2i", "i2t"), AGGREGATIONS)))
def test_gradcheck(direction: str, aggregation: str, nouns: bool) -> None:
    images, texts = random_pair(1, nouns=nouns)
    attention = Attention(direction, 3.0, aggregation, 6.0, 0.1)
    assert torch.autograd.gradcheck(
        lambda v, e: cross_attention(Encoded(v, images.mask), Encoded(e, texts.mask, texts.counted), attention, 30),
        (images.vectors.requires_grad_(), texts.vectors.requires_grad_()),
    )


def test_what_is_masked_or_padded_changes_nothing() -> None:
    images, texts = random_pair(2)
    longer = Encoded(
        torch.cat([texts.vectors, torch.full((4, 3, 5), 7.0, dtype=torch.float64)], dim=1),
        torch.cat([texts.mask, torch.zeros(4, 3, dtype=torch.bool)], dim=1),  # type: ignore[list-item]
    )
    assert torch.allclose(cross_attention(images, texts, Attention()), cross_attention(images, longer, Attention()))


@pytest.mark.parametrize("nothing", ["is there", "counts"])
@pytest.mark.parametrize(("direction", "aggregation"), list(itertools.product(("t2i", "i2t"), AGGREGATIONS)))
def test_an_empty_set_scores_zero_and_passes_no_nan(direction: str, aggregation: str, nothing: str) -> None:
    images, texts = random_pair(3, nouns=nothing == "counts")
    emptied = texts.mask if nothing == "is there" else texts.counted
    assert emptied is not None
    emptied[1] = False
    vectors = texts.vectors.requires_grad_()
    scores = cross_attention(images, replace(texts, vectors=vectors), Attention(direction, aggregation=aggregation))
    scores.sum().backward()
    # Of regions that each see nothing, log-sum-exp still counts how many there are.
    regions = images.mask.sum(1).double()  # type: ignore[union-attr]
    expected = regions.log() / 6 if (direction, aggregation) == ("i2t", "logsumexp") else torch.zeros_like(regions)
    assert (scores[:, 1] - expected).abs().max() < 1e-9
    assert vectors.grad is not None and vectors.grad.isfinite().all()


@pytest.mark.parametrize("direction", ["t2i", "i2t"])
def test_what_counts_lies_within_the_mask(direction: str) -> None:
    images, texts = random_pair(5, nouns=True)
    assert texts.mask is not None and texts.counted is not None
    wider = replace(texts, counted=texts.counted | ~texts.mask)
    attention = Attention(direction)
    assert torch.allclose(cross_attention(images, wider, attention), cross_attention(images, texts, attention))


def test_what_counts_needs_a_mask() -> None:
    with pytest.raises(ValueError, match="with a mask"):
        Encoded(torch.zeros(1, 2, 3), counted=torch.ones(1, 2, dtype=torch.bool))


def test_only_unlike_pairs_stay_finite() -> None:
    """Without a leak, an image that fits no word has all similarities zero: uniform weights, finite gradients."""
    regions = torch.tensor([[[-1.0, 0.0], [-1.0, 0.1]]], requires_grad=True)
    words = torch.tensor([[[1.0, 0.0]]], requires_grad=True)
    cross_attention(Encoded(regions), Encoded(words), Attention()).sum().backward()
    assert regions.grad is not None and regions.grad.isfinite().all()
    assert words.grad is not None and words.grad.isfinite().all()


@pytest.mark.parametrize("nouns", [False, True])
@pytest.mark.parametrize("direction", ["t2i", "i2t"])
def test_weights_against_the_loop(direction: str, nouns: bool) -> None:
    images, texts = random_pair(4, 4, 4, nouns=nouns)
    assert images.mask is not None and texts.mask is not None
    attention = Attention(direction, 5.0, leak=0.1)
    found = attention_weights(images, texts, attention)  # [N, Y, X]
    counted = texts.mask if texts.counted is None else texts.counted
    for n in range(4):
        regions, words = images.vectors[n][images.mask[n]], texts.vectors[n][texts.mask[n]]
        if direction == "t2i":
            inside = found[n][counted[n]][:, images.mask[n]]
            expected = naive_weights(regions, words, attention).t()[counted[n][texts.mask[n]]]
        else:
            inside = found[n][images.mask[n]][:, counted[n]]
            expected = naive_weights(texts.vectors[n][counted[n]], regions, attention).t()
        assert torch.allclose(inside, expected, atol=1e-9)
        assert found[n].sum().item() == pytest.approx(len(expected))  # nothing lies outside the masks


def test_wrong_settings_are_rejected() -> None:
    with pytest.raises(InputError, match="t2i or i2t"):
        Attention("sideways")
    with pytest.raises(InputError, match="logsumexp"):
        Attention(aggregation="median")


def test_cosine_against_a_loop() -> None:
    images, texts = torch.randn(3, 4), torch.randn(5, 4)
    naive = [[float(i @ t / (i.norm() * t.norm())) for t in texts] for i in images]
    assert torch.allclose(cosine(images, texts), torch.tensor(naive), atol=1e-6)
    assert cosine(torch.zeros(1, 4), texts).abs().max() == 0
