"""Objects that captions name and their references do not."""

import random

import numpy as np
import pytest

from tellapart.metrics.captions.bootstrap import resampled
from tellapart.metrics.captions.chair import chair_i, chair_s, object_counts
from tellapart.metrics.captions.evaluate import evaluate
from tellapart.text.coco_concepts import COCO_80


def test_by_hand() -> None:
    """Named: {dog, couch, cat}, {hot dog}, {}, {person, bench}. Untrue: couch and cat, none, none, bench."""
    candidates = ["a puppy and a cat on a sofa", "a hot dog", "the sky is blue", "men on a bench"]
    references = [["a dog sleeps"], ["two hotdogs"], ["a kite"], ["a woman", "a chair"]]
    assert object_counts(candidates, references).tolist() == [[2, 3], [0, 1], [0, 0], [1, 2]]
    assert chair_i(candidates, references).corpus == pytest.approx(3 / 6)
    assert chair_i(candidates, references).each.tolist() == pytest.approx([2 / 3, 0, 0, 1 / 2])
    assert chair_s(candidates, references).corpus == pytest.approx(2 / 4)


def test_an_object_named_twice_counts_once() -> None:
    assert object_counts(["a dog next to a puppy and a cat"], [["a cat"]]).tolist() == [[1, 2]]


def test_no_object_at_all() -> None:
    assert chair_i(["the sky"], [["the sky"]]).corpus == 0 and chair_s(["the sky"], [["a dog"]]).corpus == 0


def test_equals_a_plain_loop() -> None:
    draw = random.Random(3)
    names = [name for name in COCO_80 if " " not in name]
    candidates = [" ".join([*draw.sample(names, draw.randint(0, 4)), "here"]) for _ in range(50)]
    references = [
        [" and ".join(draw.sample(names, 6)) for _ in range(3)] + [candidate if draw.random() < 0.5 else "nothing"]
        for candidate in candidates
    ]
    wrong = named = captions = 0
    for candidate, group in zip(candidates, references):
        untrue = 0
        for word in candidate.split():
            if word in names:
                named += 1
                untrue += not any(word in reference.split() for reference in group)
        wrong, captions = wrong + untrue, captions + (untrue > 0)
    assert 0 < wrong < named
    assert chair_i(candidates, references).corpus == pytest.approx(wrong / named)
    assert chair_s(candidates, references).corpus == pytest.approx(captions / 50)


def test_a_resampled_corpus_sums_counts_again() -> None:
    """The corpus value of CHAIR-i is no mean over captions, so bootstrap samples must not be means either."""
    score = chair_i(["a dog and a cat and a bird", "a cow"], [["a dog", "a cat", "a bird"], ["a sheep"]])
    assert score.corpus == pytest.approx(1 / 4)
    assert set(np.round(resampled(score, 50), 4)) <= {0.0, 0.25, 1.0}


def test_registered() -> None:
    found = evaluate(["A dog."], [["A cat."]], metrics=("CHAIR-s", "CHAIR-i"))
    assert found["CHAIR-s"].corpus == 1 and found["CHAIR-i"].corpus == 1
