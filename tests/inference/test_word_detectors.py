"""Word detectors against one logistic regression per word, and what they find."""

import numpy as np
import pytest

from tellapart.inference import word_detectors
from tellapart.inference.logistic import fit_logistic
from tellapart.inference.word_detectors import RAREST, fit_detectors
from tellapart.inference.word_evidence import unit


def test_detectors_are_logistic_regressions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without dropout and after many steps: the gradient of the likelihood of each word is 0, in all numbers."""
    monkeypatch.setattr(word_detectors, "DROPPED", 0.0)
    monkeypatch.setattr(word_detectors, "RATE", 0.05)
    random = np.random.default_rng(0)
    vectors = unit(random.normal(size=(200, 5)) + 0.3)
    named = random.random((200, 2)) < 1 / (1 + np.exp(-6 * vectors[:, :2] + 1))
    found, log_named = fit_detectors(vectors, named, epochs=600)
    assert log_named == pytest.approx(np.log(named.mean(0) + RAREST), abs=1e-5)
    scaled = (vectors - vectors.mean(0)) / vectors.std(0)
    for word in range(2):
        expected = fit_logistic(tuple("abcde"), scaled, named[:, word].astype(float))
        np.testing.assert_allclose(found[word] * vectors.std(0), expected.weights, atol=0.06)  # it has a ridge


def test_dropped_numbers_spread_the_weights_of_rare_words() -> None:
    """Two numbers of a vector say the same: each gets half, though one would do. A word without image is finite."""
    random = np.random.default_rng(2)
    one = random.normal(size=400)
    vectors = unit(np.stack([one, one, 3 * np.ones(400), random.normal(size=400)], 1))
    found, log_named = fit_detectors(vectors, np.stack([one > 0, np.zeros(400, bool)], 1), epochs=100)
    assert found[0, 0] == pytest.approx(found[0, 1], rel=0.05) and found[0, 0] > 5 * abs(found[0, 3])
    assert np.isfinite(found).all() and log_named[1] == pytest.approx(np.log(RAREST))


def test_detectors_know_which_words_exclude_each_other() -> None:
    """Images show a cat, and either "sitting" or "standing" next to it: only the detectors' signs tell these apart."""
    random = np.random.default_rng(1)
    sits = random.random(200) < 0.5
    axes = np.stack([np.ones(200), np.where(sits, 0.3, 0.0), np.where(sits, 0.0, 0.3)], 1)
    vectors = unit(axes + 0.02 * random.normal(size=axes.shape))
    found, _ = fit_detectors(vectors, np.stack([sits, ~sits], 1), epochs=100)
    detected = (vectors - vectors.mean(0)) @ found.T  # [200, 2]
    assert bool(((detected[:, 0] > 0) == sits).all()) and bool(((detected[:, 1] > 0) == ~sits).all())
