"""BLEU, ROUGE-L and CIDEr-D equal pycocoevalcap: on Flickr8k test and on random captions."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flickr_captions import flickr_test
from tellapart.metrics.captions.bleu import bleu
from tellapart.metrics.captions.cider import cider_d
from tellapart.metrics.captions.document_frequency import DocumentFrequency
from tellapart.metrics.captions.rouge import rouge_l
from tellapart.metrics.captions.values import Score

pytest.importorskip("pycocoevalcap", reason="pycocoevalcap is not installed")

words = st.lists(st.sampled_from(["a", "a", "the", "dog", "dogs", "runs", "2\xa01/2", "'s"]), max_size=9).map(" ".join)
images = st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=4)), min_size=1, max_size=5)


def same(ours: Score, corpus: float, each: list[float]) -> None:
    assert ours.corpus == pytest.approx(corpus, abs=1e-9, rel=0)
    np.testing.assert_allclose(ours.each, each, atol=1e-9, rtol=0)


def check(candidates: list[str], references: list[list[str]]) -> None:
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    given_references = dict(enumerate(references))
    given_candidates = {index: [caption] for index, caption in enumerate(candidates)}
    corpus, each = Bleu(4).compute_score(given_references, given_candidates, verbose=0)
    for order, score in enumerate(bleu(candidates, references)):
        same(score, corpus[order], each[order])
    same(rouge_l(candidates, references), *Rouge().compute_score(given_references, given_candidates))
    if any(
        reference.split() for group in references for reference in group
    ):  # the reference fails where none has words
        expected = Cider().compute_score(given_references, given_candidates)
        same(cider_d(candidates, references), *expected)
        same(cider_d(candidates, references, DocumentFrequency.from_references(references)), *expected)


@settings(max_examples=60, deadline=None)
@given(images)
def test_random_captions(drawn: list[tuple[str, list[str]]]) -> None:
    check([candidate for candidate, _ in drawn], [group for _, group in drawn])


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(images)
def test_a_thousand_random_cases(drawn: list[tuple[str, list[str]]]) -> None:
    check([candidate for candidate, _ in drawn], [group for _, group in drawn])


@pytest.mark.slow
def test_flickr8k(shared_data: Path) -> None:
    check(*flickr_test(shared_data))


def test_long_captions() -> None:
    check(["a dog runs " * 100, "a"], [["the dog runs " * 90, "a dog"], ["a " * 300]])
