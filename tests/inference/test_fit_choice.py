"""Weights of the choice: the same choice as `telling_apart`, limits that hold, and outcomes by hand."""

from dataclasses import replace

import numpy as np
import pytest

from evidence_world import VOCABULARY, VectorJudge, evidence
from tellapart.inference import word_evidence
from tellapart.inference.apart import Proposed
from tellapart.inference.choice_terms import Candidates, joined_candidates, outcomes_of, terms_of
from tellapart.inference.fit_choice import RANGES, Outcomes, Terms, chosen, fit_choice, means, merit
from tellapart.inference.judging import Judged, Surroundings, Vectors
from tellapart.inference.light.decoded import Captions
from tellapart.inference.proposals import join_proposals
from tellapart.inference.telling_apart import choose
from tellapart.text.vocabulary import END, PAD

TEXTS = ("a dog", "a dog on a sofa", "a red sofa", "a red dog on a sofa", "a kite on a dog", "a zebra")


def searched(random: np.random.Generator) -> Proposed:
    """Captions of one image, with random likelihoods."""
    ids = [[*VOCABULARY.encode(text.split()), END] for text in TEXTS]
    longest = max(map(len, ids))
    tokens = np.asarray([row + [PAD] * (longest - len(row)) for row in ids])
    decoded = Captions(tokens, -random.exponential(6, len(TEXTS)))
    return Proposed(decoded, join_proposals([decoded], 1, VOCABULARY), [["a dog", "a sofa"]])


@pytest.mark.parametrize("has_second", [False, True])
def test_the_choice_is_that_of_captions_against(has_second: bool) -> None:
    """On random images: with the same weights, fitting sees what `caption --against` would choose."""
    random, judge, places, expected, parts, images = np.random.default_rng(5), VectorJudge(), [], [], [], []
    known, other = evidence(), evidence(0.9)
    also: list[np.ndarray] = []
    known = replace(known, settings={**known.settings, "word": 0.3, "object": 0.4})
    for _ in range(40):
        own, *others = (word_evidence.unit(np.abs(random.normal(size=(1, 4))).astype(np.float32)) for _ in range(4))
        around = Surroundings(Vectors(own), Vectors(np.concatenate(others)), np.asarray([[0]]), np.asarray([[1, 2]]))
        found = searched(random)
        also.append(word_evidence.unit(np.abs(random.normal(size=(1, 4))).astype(np.float32)))
        second = Judged(VectorJudge(other), Vectors(also[-1])) if has_second else None
        expected.append(int(choose(found.proposals, judge, around, 0.5, known, found.typical, second).chosen[0]))
        parts.append(Candidates.of(found, judge, around))
        images.append(own)
    beside = (other, np.concatenate(also)) if has_second else None
    terms = terms_of(joined_candidates(parts), known, np.concatenate(images), beside)
    places = chosen(terms, known.settings).tolist()
    assert places == expected and len(set(places)) > 2


def test_further_images_count_in_the_value_and_not_in_the_answer() -> None:
    """The neighbour lacks the sofa, a further image has both: the choice turns to the caption that it fits less."""
    known, own = evidence(), word_evidence.unit(np.asarray([[0.7, 0.6, 0.4, 0]], np.float32))
    others = word_evidence.unit(np.asarray([[1, 0, 0, 0], [0.7, 0.7, 0, 0]], np.float32))
    ids = [[*VOCABULARY.encode(text.split()), END] for text in ("a dog", "a dog on sofa", "a red dog on sofa")]
    tokens = np.asarray([row + [PAD] * (7 - len(row)) for row in ids])
    proposals = join_proposals([Captions(tokens, np.asarray([-4.0, -4.0, -8.0]))], 1, VOCABULARY)
    near, far = np.asarray([[0]]), np.asarray([[1]])
    given = [Surroundings(Vectors(own), Vectors(others), near, more) for more in (None, far)]
    found = [choose(proposals, VectorJudge(), around, 0.7, known, [["a dog on sofa"]]) for around in given]
    assert [one.chosen.tolist() for one in found] == [[1], [2]]
    assert [one.confused.shape for one in found] == [(1, 1), (1, 1)]


def test_outcomes_by_hand() -> None:
    """The second caption names a sofa that no reference has; "red" is unnamed, too."""
    found = Candidates([["a dog", "a red sofa"]], [["a dog"]], np.ones((1, 2), bool), np.zeros((1, 2)),
                       np.full((1, 2), 3), np.zeros((1, 2, 2)), 1)  # fmt: skip
    outcomes = outcomes_of(found.texts, [["a dog", "the dogs"]], np.asarray([[True, False]]))
    assert outcomes.wrong_object.tolist() == [[0, 1]] and outcomes.unnamed.tolist() == [[0, 2]]
    assert outcomes.right.tolist() == [[1, 0]] and outcomes.cider.shape == (1, 2)
    assert means(outcomes, np.asarray([1])) == pytest.approx(
        {"right": 0, "cider": outcomes.cider[0, 1], "wrong_object": 1, "unnamed": 2}
    )


def test_limits_cost_more_than_the_judge_gives() -> None:
    plain = {"right": 0.4, "cider": 1.0, "wrong_object": 0.1, "unnamed": 1.0}
    good = {"right": 0.5, "cider": 0.955, "wrong_object": 0.095, "unnamed": 1.11}
    assert merit(good, plain) == pytest.approx(0.5)
    for worse in ({"cider": 0.935}, {"wrong_object": 0.115}, {"unnamed": 1.13}):
        assert merit({**good, "right": 0.55, **worse}, plain) == pytest.approx(0.45)


def test_weights_are_found_that_matter() -> None:
    """The judge is right for the second caption only, which is less true where it is wrong in CIDEr."""
    random, count = np.random.default_rng(0), 60
    bad = random.random(count) < 0.5
    zeros, one = np.zeros((count, 2)), np.ones((count, 2))
    truth = np.stack([np.full(count, -0.5), np.where(bad, -2.5, -0.5)], 1)
    scores = np.stack([np.stack([np.full(count, 1.0), np.zeros(count)], 1), np.broadcast_to([3.0, 0.0], (count, 2))], 1)
    terms = Terms(np.ones((count, 2), bool), scores, 1, zeros, truth, zeros, one, one, zeros, one, one)
    cider = np.stack([np.ones(count), np.where(bad, 0.2, 1.0)], 1)
    outcomes = Outcomes(np.stack([np.zeros(count), np.ones(count)], 1), cider, zeros, zeros)
    found = fit_choice(terms, outcomes, drawn=60)
    assert found.keys() == RANGES.keys() and chosen(terms, found).tolist() == (~bad).astype(int).tolist()
