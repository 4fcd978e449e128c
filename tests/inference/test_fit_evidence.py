"""Fitting evidence on made examples: words that people name, captions that are true, and what is strange."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evidence_world import WORDS, VectorJudge, evidence
from tellapart.core.files import read_json, write_json
from tellapart.inference.confidence import calibrated, confidence_features, confidences
from tellapart.inference.fit_evidence import (
    LEAST_SURE,
    Examples,
    confidence_examples,
    fit_calibration,
    fit_confidence,
    fit_truth,
    is_true,
    with_against,
    with_thresholds,
)
from tellapart.inference.generated import GeneratedCaptions, with_confidence
from tellapart.inference.judging import Vectors
from tellapart.inference.light.decoded import Captions
from tellapart.inference.logistic import Logistic
from tellapart.inference.word_evidence import WordEvidence, read_evidence, unit

JUDGE: VectorJudge = VectorJudge()


def examples(count: int = 200, seed: int = 0) -> Examples:
    """Each image shows one word; its caption and its reference name that word."""
    random = np.random.default_rng(seed)
    shown = random.integers(0, 4, count)
    vectors = np.eye(4)[shown] + 0.1 * random.normal(size=(count, 4))
    captions = [f"a {WORDS[word]}" for word in shown]
    return Examples(unit(vectors), [[caption] for caption in captions], captions, np.full(count, -3.0))


def test_truth_rises_with_evidence() -> None:
    given = examples()
    proposed = [[*given.captions[row : row + 1], "a dog", "a sofa"] for row in range(len(given.captions))]
    fitted = fit_truth(evidence(), given.vectors, proposed, given.references)
    shown = fitted.probabilities(np.eye(4))
    assert bool((shown.diagonal() > 0.9).all()) and bool((shown[~np.eye(4, dtype=bool)] < 0.1).all())


def test_captions_of_other_images_are_untrue() -> None:
    """Half of the examples are swapped: those with the same word by chance are true."""
    given = examples()
    values, labels = confidence_examples(evidence(), JUDGE, given)  # type: ignore[arg-type]
    assert values.shape == (400, 5) and labels[:200].all() and labels[200:].mean() == pytest.approx(0.25, abs=0.1)
    fitted = fit_confidence(evidence(), JUDGE, given)  # type: ignore[arg-type]
    own = confidences(JUDGE, fitted, given.captions, given.log_probability, given.vectors)  # type: ignore[arg-type]
    wrong = confidences(JUDGE, fitted, ["a red zebra"] * 200, given.log_probability, given.vectors)  # type: ignore[arg-type]
    assert np.mean(own) > 0.9 and np.mean(wrong) < 0.5


def test_features_by_hand() -> None:
    """A word without evidence counts 0.01; ln p is per word with END; distance is 0 at the mean of images."""
    known = WordEvidence(**{**vars(evidence()), "image_mean": np.asarray([1.0, 0.0, 0.0, 0.0])})
    image = np.asarray([[1.0, 0.0, 0.0, 0.0]])
    values = confidence_features(JUDGE, known, ["a dog kite"], np.asarray([-8.0]), image)  # type: ignore[arg-type]
    dog = np.log(1 / (1 + np.exp(1)))  # z is 0 at the mean
    assert values[0] == pytest.approx([0, -2, np.log(0.01), (dog + np.log(0.01)) / 2, 0], abs=1e-5)


@pytest.mark.parametrize(
    ("caption", "true"),
    [
        ("a dog on a sofa", True),
        ("a dog on a couch", True),
        ("a cat on a sofa", False),
        ("a dog wearing yellow pyjamas", False),
        ("a", False),
    ],
)
def test_what_counts_as_true(caption: str, true: bool) -> None:
    assert is_true(caption, ["a brown dog sleeps on a couch", "dogs indoors"]) is true


def test_captions_against_look_alikes_are_calibrated_apart(tmp_path: Path) -> None:
    """Of those with confidence 0.5, 80% are true; of those with 0.2, half. Without a calibration nothing changes."""
    found = [0.5] * 100 + [0.2] * 100
    labels = [True] * 80 + [False] * 20 + [True] * 50 + [False] * 50
    known = replace(evidence(), against=fit_calibration(found, labels))
    assert calibrated(known, [0.5, 0.2], against=True) == pytest.approx([0.8, 0.5], abs=0.01)
    assert calibrated(known, [0.5, 0.2]) == [0.5, 0.2] == calibrated(evidence(), [0.5, 0.2], against=True)
    both = replace(known, plain=fit_calibration(found, [not label for label in labels]))
    assert calibrated(both, [0.5, 0.2]) == pytest.approx([0.2, 0.5], abs=0.01)
    known.save(tmp_path)
    again = read_evidence(tmp_path, "none")
    assert again is not None and again.against == known.against and again.plain is None
    about = read_json(tmp_path / "evidence.json")
    del about["against"]  # as the first version wrote it
    write_json(tmp_path / "evidence.json", about)
    old = read_evidence(tmp_path, "none")
    assert old is not None and old.against is None


def test_captions_against_look_alikes_have_a_threshold_of_their_own() -> None:
    """fit = 0.4: confidence 0.6 as such and 0.5 against look-alikes, whose threshold is 0.7."""
    known = replace(
        evidence(), against=Logistic(("log_odds",), (0.0,), 0.0), settings={"sure": 0.55, "sure_against": 0.7}
    )
    judge, image = VectorJudge(known), unit(np.asarray([[0.2, 0.98, 0.0, 0.0]]))
    captions = GeneratedCaptions(["a dog"], Captions(np.asarray([[4, 1]]), np.asarray([-1.0])), [-1.0])
    plain, against = (with_confidence(captions, judge, Vectors(image), chosen) for chosen in (False, True))
    assert plain.confidence == pytest.approx([0.6], abs=0.01) and plain.sure == [True]
    assert against.confidence == pytest.approx([0.5]) and against.sure == [False]


def test_thresholds_lie_above_images_without_a_scene() -> None:
    """Confidence 0.9 for all strange captions: "sure" starts above; with none so high, at the least threshold."""
    known = replace(evidence(), confidence=Logistic(evidence().confidence.features, (0.0,) * 5, float(np.log(9))))
    given = examples(20)
    found = with_thresholds(known, JUDGE, given)  # type: ignore[arg-type]
    assert found.settings["sure"] == found.settings["sure_against"] == pytest.approx(0.9, abs=0.011)
    low = replace(known, confidence=Logistic(known.confidence.features, (0.0,) * 5, -3.0))
    low = replace(low, against=fit_calibration([0.5] * 50 + [0.05] * 50, [True] * 50 + [True] * 45 + [False] * 5))
    found = with_thresholds(low, JUDGE, given)  # type: ignore[arg-type]
    assert found.settings["sure"] == LEAST_SURE < 0.85 < found.settings["sure_against"]
    assert found.settings["object"] == known.settings["object"]


def test_the_threshold_moves_with_its_calibration() -> None:
    """Log-odds of 2 became 0.5 * 2 and now become 0.25 * 2 + 1: the threshold rises from 0.731 to 0.82."""
    known = replace(evidence(), plain=Logistic(("log_odds",), (0.5,), 0.0))
    known = replace(known, settings={**known.settings, "sure_against": float(1 / (1 + np.exp(-1)))})
    moved = with_against(known, Logistic(("log_odds",), (0.25,), 1.0))
    assert moved.against == Logistic(("log_odds",), (0.25,), 1.0)
    assert moved.settings == {**known.settings, "sure_against": 0.82}  # 1 / (1 + exp(-1.5)) = 0.8176
    assert with_against(moved, moved.against).settings == moved.settings
    assert with_against(moved, Logistic(("log_odds",), (0.25,), -3.0)).settings["sure_against"] == LEAST_SURE
