"""Telling apart, on vectors made by hand: the guide, the choice, what is untrue, and what sets an image apart."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evidence_world import VOCABULARY, WORDS, VectorJudge, evidence
from tellapart.inference import telling_apart, word_evidence
from tellapart.inference.agreement import agreements
from tellapart.inference.judging import Judged, Surroundings, Vectors
from tellapart.inference.light.decoded import Captions
from tellapart.inference.proposals import Proposals, join_proposals
from tellapart.inference.telling_apart import (
    STRENGTH,
    UNSUPPORTED,
    choose,
    confusion,
    differing_words,
    guide,
    log_softmax,
    word_support,
)
from tellapart.inference.word_evidence import WordEvidence, read_evidence, truth_features
from tellapart.text.vocabulary import END, PAD


def unit(*values: float) -> np.ndarray:
    return word_evidence.unit(np.asarray([values], np.float32))


def proposals(captions: list[tuple[str, float]]) -> Proposals:
    """Captions of one image with ln p(c|I)."""
    ids = [[*VOCABULARY.encode(text.split()), END] for text, _ in captions]
    longest = max(map(len, ids))
    tokens = np.asarray([row + [PAD] * (longest - len(row)) for row in ids])
    return join_proposals([Captions(tokens, np.asarray([chance for _, chance in captions]))], 1, VOCABULARY)


def test_z_against_a_loop() -> None:
    """z over a set of images, with the set's own mean and covariance, is the standardised cosine."""
    random = np.random.default_rng(0)
    images = word_evidence.unit(random.normal(size=(50, 4)) + 0.5)
    words = word_evidence.unit(random.normal(size=(4, 4)))
    centred = images - images.mean(0)
    found = WordEvidence(
        "none", WORDS, words, images.mean(0), centred.T @ centred / 50, np.zeros(4), np.eye(4), np.zeros(4),
        truth=evidence().truth, confidence=evidence().confidence, settings={},
    )  # fmt: skip
    for word in range(4):
        cosines = [float(image @ words[word]) for image in images]
        for image in (0, 7):
            expected = (cosines[image] - np.mean(cosines)) / np.std(cosines)
            assert float(found.z(images)[image, word]) == pytest.approx(expected, abs=1e-4)
            assert float(found.fit(images[image : image + 1], words[word : word + 1])[0]) == pytest.approx(
                expected, abs=1e-4
            )


def test_truth_has_separate_slopes_for_objects() -> None:
    """dog, sofa and zebra are objects of COCO's 80 (sofa as a synonym); red is none."""
    known = evidence()
    assert known.is_object.tolist() == [1, 1, 0, 1]
    values = truth_features(np.asarray([2.0, 3.0]), known.log_named[[0, 2]], known.is_object[[0, 2]])
    assert values.tolist() == [[2, -1, 1, 2, -2], [3, -3, 0, 0, -9]]


def test_the_guide_prefers_what_the_neighbours_lack() -> None:
    """Own z = 2 (.8, .6, 0, 0). The neighbours' z are (2, 0, 0, 0) and √2 (0, 0, 1, 1); q = (1/4, 3/4) weighs them.

    red and zebra have p = 1 / (1 + e) < 1/2, so the image does not support them.
    """
    known, own = evidence(), unit(0.8, 0.6, 0, 0)
    around = Surroundings(
        Vectors(own), Vectors(np.concatenate([unit(1, 0, 0, 0), unit(0, 0, 1, 1)])), np.asarray([[0, 1]])
    )
    found = guide(known, VectorJudge(), around, VOCABULARY, np.asarray([[0.25, 0.75]]))
    expected = {"dog": STRENGTH * (1.6 - 0.5), "sofa": STRENGTH * 1.2, "red": UNSUPPORTED, "zebra": UNSUPPORTED}
    for word, value in expected.items():
        assert float(found[0, VOCABULARY.ids[word]]) == pytest.approx(value, abs=1e-5)
    assert float(found[0, VOCABULARY.ids["a"]]) == 0 == float(found[0, VOCABULARY.ids["kite"]])
    seen = Judged(VectorJudge(evidence()), Vectors(unit(0, 1, 0, 0)))  # no dog
    stronger = guide(known, VectorJudge(), around, VOCABULARY, np.asarray([[0.25, 0.75]]), 3.0, seen)
    expected = {"dog": UNSUPPORTED, "sofa": 3 * 1.2, "red": UNSUPPORTED, "zebra": UNSUPPORTED}
    for word, value in expected.items():
        assert float(stronger[0, VOCABULARY.ids[word]]) == pytest.approx(value, abs=1e-5)


def test_confusion_is_the_judges_choice_among_neighbours() -> None:
    """By "a sofa", cosines with the neighbours are 0.8 and 0.6, times 10."""
    among = np.concatenate([unit(0, 0, 1, 0), unit(0.8, 0.6, 0, 0), unit(0.6, 0.8, 0, 0)])
    around = Surroundings(Vectors(unit(0, 1, 0, 0)), Vectors(among), np.asarray([[2, 1]]))
    share = 1 / (1 + math.exp(6 - 8))
    assert confusion(VectorJudge(), ["a sofa"], around)[0] == pytest.approx([share, 1 - share], abs=1e-5)


def test_the_choice_is_true_distinct_and_fluent() -> None:
    """The plain caption fits the neighbour as well; "red" is untrue; "kite" has no evidence; "dog on sofa" remains."""
    known, own, other = evidence(), unit(0.7, 0.7, 0, 0), unit(1, 0, 0, 0)
    around = Surroundings(Vectors(own), Vectors(other), np.asarray([[0]]))
    given = proposals([("a dog", -2.0), ("a red sofa", -2.0), ("a kite", -1.0), ("a dog on a sofa", -4.0),
                       ("a sofa on a sofa", -1.0), ("a dog", -2.0)])  # fmt: skip
    assert given.usable.tolist() == [[True, True, True, True, False, False]]
    assert word_support(given, known, own)[0].tolist() == [[True, False, False, True, True, True]]
    choice = choose(given, VectorJudge(), around, 0.5, known, [["a dog on a sofa"]])
    assert choice.chosen.tolist() == [3] and choice.distinct.tolist() == [True] and not choice.confused.any()
    caption = unit(1, 1, 0, 0)
    scores = 10 * np.concatenate([own @ caption.T, other @ caption.T]).flatten()
    assert float(choice.posterior[0]) == pytest.approx(math.exp(log_softmax(scores)[0]), abs=1e-5)


def test_a_second_judge_must_support_the_words_too() -> None:
    """It sees no sofa: the caption with one is out, by its thresholds in the first judge's settings."""
    known, own, other = evidence(), unit(0.7, 0.7, 0, 0), unit(1, 0, 0, 0)
    around = Surroundings(Vectors(own), Vectors(other), np.asarray([[0]]))
    given = proposals([("a dog", -2.0), ("a dog on a sofa", -4.0)])

    def chosen(*seen: float, **changed: float) -> int:
        first = replace(known, settings={**known.settings, **changed})
        second = Judged(VectorJudge(evidence()), Vectors(unit(*seen)))
        return int(choose(given, VectorJudge(), around, 0.5, first, [["a dog on a sofa"]], second).chosen[0])

    assert chosen(0.7, 0.7, 0, 0) == 1 and chosen(1, 0, 0, 0) == 0
    assert chosen(1, 0, 0, 0, second_object=0.0, second_truth=0.0) == 1
    assert chosen(1, 0, 0, 0, second_object=0.0, second_truth=9.0) == 0  # allowed, but too unlikely


def test_amounts_need_evidence_and_each_claim_costs() -> None:
    """A "couple" is a claim like "red"; two claims cost the sum of what each costs."""
    known, own = evidence(), unit(1, 1, 1, 0)
    given = proposals([("a dog", -1.0), ("a zebra", -1.0), ("a dog on a sofa", -1.0), ("a sofa", -1.0)])
    given.texts[0][1] = "a couple of dog"
    marks, sums = word_support(given, known, own)
    assert marks.tolist() == [[True, False, True, True]]
    assert sums[0, 2] == pytest.approx(sums[0, 0] + sums[0, 3]) and sums[0, 1] < sums[0, 0] - 4


@pytest.mark.parametrize("with_evidence", [True, False])
def test_value_against_a_loop(with_evidence: bool) -> None:
    known, own, other = evidence(), unit(0.6, 0.5, 0.4, 0.3), unit(0.65, 0.3, 0.2, 0.3)
    known = replace(known, settings={**known.settings, "word": -1.0, "object": -1.0})
    weights = known.settings
    around = Surroundings(Vectors(own), Vectors(other), np.asarray([[0]]))
    captions = [("a dog", -1.0), ("a dog on a red sofa", -6.0), ("a red zebra", -9.0)]
    typical = ["a dog", "a sofa", "a red sofa"]
    given, judge, seen = proposals(captions), VectorJudge(), set()
    for weight in (0.0, 0.2, 0.5, 0.8, 1.0):
        values = []
        for text, chance in captions:
            vector = judge.caption_vectors([text])
            mine, theirs = (10 * float((image @ vector.T)[0, 0]) for image in (own, other))
            found = -math.log1p(math.exp((weights["softness"] if with_evidence else 1) * (theirs - mine)))
            likely = chance / (len(text.split()) + 1)
            if with_evidence:
                named = [WORDS.index(word) for word in text.split() if word in WORDS]
                support = sum([-math.log1p(math.exp(1 - 4 * float(own[0, word]))) for word in named])
                (agreed,) = agreements([text], typical, {"dog": 1.0, "sofa": 2.0, "red": 3.0, "zebra": 4.0})
                likely = weights["agreement"] * agreed + weights["truth"] * support + weights["fluency"] * likely
            values.append(weight * found + (1 - weight) * likely)
        chosen = choose(given, judge, around, weight, known if with_evidence else None, [typical])
        assert int(chosen.chosen[0]) == int(np.argmax(values))
        seen.add(int(chosen.chosen[0]))
    assert len(seen) > 1


class CountingJudge(VectorJudge):
    """Counts the captions that it reads."""

    read = 0

    def caption_scores(self, captions: Sequence[str], around: Surroundings) -> tuple[np.ndarray, np.ndarray]:
        self.read += len(captions)
        return super().caption_scores(captions, around)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.7, 1.0])
def test_captions_that_cannot_win_are_not_judged(monkeypatch: pytest.MonkeyPatch, weight: float) -> None:
    """Whatever is scored first, the choice is that of scoring all; proposals with a low bound are never read."""
    random = np.random.default_rng(3)
    texts = [f"a {one} on {other}" for one in WORDS for other in (*WORDS, "a") if one != other]
    for _ in range(20):
        own, other = (word_evidence.unit(np.abs(random.normal(size=(1, 4))).astype(np.float32)) for _ in range(2))
        around = Surroundings(Vectors(own), Vectors(other), np.asarray([[0]]))
        given = proposals([(text, float(-random.exponential(8))) for text in texts])
        chosen, read = [], []
        for first in (1, 3, len(texts)):
            monkeypatch.setattr(telling_apart, "FIRST", first)
            judge = CountingJudge()
            chosen.append(choose(given, judge, around, weight, None, [[]]).chosen.tolist())
            read.append(judge.read)
        assert chosen[0] == chosen[1] == chosen[2] and read[2] == len(texts)
        assert max(read) == len(texts) and (weight > 0.5 or min(read) < len(texts))


def test_the_plain_caption_when_nothing_true_sets_apart() -> None:
    known, own = evidence(), unit(1, 0, 0, 0)
    around = Surroundings(Vectors(own), Vectors(own), np.asarray([[0]]))
    choice = choose(proposals([("a dog", -2.0), ("a red dog", -1.0)]), VectorJudge(), around, 0.5, known, [["a dog"]])
    assert (
        choice.chosen.tolist() == [0] and choice.distinct.tolist() == [False] and choice.confused.tolist() == [[True]]
    )


def test_a_caption_that_sets_apart_from_more_neighbours_is_chosen_though_not_from_all() -> None:
    """The plain caption fits both neighbours as well; "sofa" sets the image apart from the first, not from the copy."""
    known, own = evidence(), unit(0.7, 0.7, 0, 0)
    around = Surroundings(Vectors(own), Vectors(np.concatenate([unit(1, 0, 0, 0), own])), np.asarray([[0, 1]]))
    given = proposals([("a dog", -2.0), ("a dog on a sofa", -3.0)])
    choice = choose(given, VectorJudge(), around, 0.5, known, [["a dog on a sofa"]])
    assert choice.chosen.tolist() == [1] and choice.distinct.tolist() == [False]
    assert choice.confused.tolist() == [[False, True]]


def test_an_unsupported_plain_caption_still_competes() -> None:
    """It stays where a supported one is much less likely, and goes where that one is as likely."""
    known, own, other = evidence(), unit(0.7, 0.7, 0.1, 0), unit(0, 0, 1, 0.2)
    around = Surroundings(Vectors(own), Vectors(other), np.asarray([[0]]))
    for chance, chosen in ((-40.0, 0), (-1.0, 1)):
        given = proposals([("a red dog", -1.0), ("a dog on a sofa", chance)])
        assert not word_support(given, known, own)[0][0, 0]
        assert choose(given, VectorJudge(), around, 0.5, known, [["a dog"]]).chosen.tolist() == [chosen]


def test_the_plain_caption_may_be_distinct_though_no_caption_passes() -> None:
    """No proposal is supported, so the plain one is returned; it still fits its image better than the neighbour."""
    known, own, other = evidence(1.0), unit(0.7, 0.7, 0, 0), unit(0, 0, 1, 0)
    around = Surroundings(Vectors(own), Vectors(other), np.asarray([[0]]))
    choice = choose(proposals([("a dog", -2.0), ("a sofa", -1.0)]), VectorJudge(), around, 0.5, known, [["a dog"]])
    assert choice.chosen.tolist() == [0] and choice.distinct.tolist() == [True] and not choice.confused.any()


def test_differing_words_name_the_neighbours_that_show_less() -> None:
    found = differing_words(
        evidence(), "a dog on a sofa", unit(0.7, 0.7, 0, 0)[0], np.concatenate([unit(1, 0, 0, 0), unit(0, 0, 1, 0)])
    )
    assert found == {"dog": [1], "sofa": [0, 1]}


def test_stored_evidence_is_read_for_its_matcher_alone(tmp_path: Path) -> None:
    columns = np.arange(16, dtype=np.float32).reshape(4, 4).T  # as `fit_detectors` returns them, transposed in memory
    known = replace(evidence(), detectors=columns)
    known.save(tmp_path)
    again = read_evidence(tmp_path, "none")
    assert again is not None and again.words == WORDS and again.settings == known.settings
    assert again.detectors.tolist() == columns.tolist()
    np.testing.assert_allclose(again.z(unit(1, 2, 3, 4)), known.z(unit(1, 2, 3, 4)), atol=1e-2, rtol=1e-2)
    assert read_evidence(tmp_path, "another") is None and read_evidence(tmp_path / "empty", "none") is None
