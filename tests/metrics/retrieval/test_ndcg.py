"""nDCG and its ROUGE-L relevance: hand-worked, loops, long captions."""

from __future__ import annotations

import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.core.errors import InputError
from tellapart.metrics.retrieval import rouge_relevance as relevance_module
from tellapart.metrics.retrieval.common_subsequences import References, by_table, common_lengths
from tellapart.metrics.retrieval.ndcg import ndcg, ndcg_rouge
from tellapart.metrics.retrieval.rouge_relevance import RougeRelevance, numbered, rouge_relevance


def naive_lcs(first: list[str], second: list[str]) -> int:
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def naive_relevance(query: str, captions: list[str]) -> float:
    words = query.lower().split()
    pairs = [(naive_lcs(words, c.lower().split()), len(c.split())) for c in captions]
    precision, recall = max(n / len(words) for n, _ in pairs), max(n / length for n, length in pairs)
    below = recall + 1.44 * precision
    return (1 + 1.44) * precision * recall / below if below else 0.0


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), longest=st.sampled_from([6, 64, 70]))
def test_relevance_against_loops(seed: int, longest: int) -> None:
    draw = random.Random(seed)
    captions = [" ".join(draw.choice("aBcDe") for _ in range(draw.randint(1, longest))) for _ in range(8)]
    owner = [0, 1, 2, 0, 1, 2, 2, 2]
    found = rouge_relevance(captions, torch.tensor(owner))
    for query, row in zip(captions, found.tolist()):
        for image, value in enumerate(row):
            own = [c for c, o in zip(captions, owner) if o == image]
            assert value == pytest.approx(naive_relevance(query, own), abs=1e-6)


def test_bits_and_table_agree() -> None:
    draw = random.Random(0)
    words, lengths = numbered([" ".join(draw.choice("abcd") for _ in range(draw.randint(0, 64))) for _ in range(20)])
    assert torch.equal(common_lengths(words, lengths, References(words, lengths)), by_table(words, words))


def test_relevance_by_hand() -> None:
    """ "a dog runs" against "a brown dog runs": common 3, precision 3/3, recall 3/4: 2.44 x .75 / (.75 +
    1.44) = .8356."""
    relevance = rouge_relevance(["a dog runs", "A brown dog runs"], torch.tensor([0, 1]))
    assert relevance[0].tolist() == pytest.approx([1.0, 2.44 * 0.75 / 2.19])


def test_ndcg_by_hand() -> None:
    """Relevances 1, 0, 1 in the order found: (1 + 1/log2 4) / (1 + 1/log2 3) = 1.5 / 1.6309."""
    scores = torch.tensor([[0.9], [0.5], [0.1]])
    found = ndcg(scores, torch.tensor([[1.0, 0.0, 1.0]]))
    assert found == pytest.approx(1.5 / (1 + 1 / math.log2(3)))


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), depth=st.sampled_from([1, 3, 25]))
def test_ndcg_against_a_loop(seed: int, depth: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores, relevance = torch.randn(6, 4, generator=generator), torch.rand(4, 6, generator=generator)
    values = []
    for query in range(4):
        order = sorted(range(6), key=lambda p: -float(scores[p, query]))[:depth]
        gains = [2 ** float(relevance[query, p]) - 1 for p in order]
        best = sorted((2 ** float(r) - 1 for r in relevance[query]), reverse=True)[:depth]
        total, ideal = (sum(g / math.log2(r + 2) for r, g in enumerate(group)) for group in (gains, best))
        values.append(total / ideal)
    assert ndcg(scores, relevance, depth) == pytest.approx(sum(values) / 4)


def test_nothing_relevant_gives_zero_and_bad_shapes_are_rejected() -> None:
    assert ndcg(torch.rand(3, 2), torch.zeros(2, 3)) == 0
    with pytest.raises(InputError, match="relevance must have the shape"):
        ndcg(torch.rand(3, 2), torch.zeros(3, 2))


def test_a_query_with_nan_counts_zero() -> None:
    """A sort puts NaN first: one relevant image with a NaN score would make the ranking ideal."""
    relevance = torch.tensor([[0.0, 1.0], [0.0, 1.0]])
    scores = torch.tensor([[0.9, 0.1], [torch.nan, 0.2]])
    assert ndcg(scores, relevance) == pytest.approx((0 + 1) / 2)


def test_parts_give_what_the_whole_matrix_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(1)
    captions = [" ".join(draw.choice("abcdefgh") for _ in range(draw.randint(1, 9))) for _ in range(30)]
    owner = torch.arange(30) // 5
    scores = torch.randn(6, 30, generator=torch.Generator().manual_seed(0))
    whole = ndcg(scores, rouge_relevance(captions, owner))
    for pairs in (1, 70, 200):
        monkeypatch.setattr(relevance_module, "PAIRS_AT_ONCE", {"cpu": pairs})
        sizes = [len(part) for _, part in RougeRelevance(captions, owner).parts()]
        assert sum(sizes) == 30 and max(sizes) == max(1, pairs // 30)
        assert ndcg_rouge(scores, captions, owner) == pytest.approx(whole, abs=1e-12)


def test_scores_of_other_captions_are_rejected() -> None:
    with pytest.raises(InputError, match="there are 1 captions"):
        ndcg_rouge(torch.rand(3, 2), ["a dog"], torch.zeros(1, dtype=torch.long))
