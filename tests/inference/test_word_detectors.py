"""Word detectors against a regression per word by hand, and what they find."""

import numpy as np
import pytest

from tellapart.inference.word_detectors import RAREST, fit_detectors
from tellapart.inference.word_evidence import unit


def test_detectors_against_one_regression_per_word() -> None:
    """The normal equations of each word, augmented with rows that carry the ridge, solved by least squares."""
    random = np.random.default_rng(0)
    vectors = unit(random.normal(size=(60, 5)) + 0.3)
    named = random.random((60, 3)) < (0.5, 0.2, 0.0)
    found, log_named = fit_detectors(vectors, named, ridge=0.5)
    assert log_named == pytest.approx(np.log(named.mean(0) + RAREST), abs=1e-5)
    deviation = vectors.std(0)
    scaled = (vectors - vectors.mean(0)) / deviation
    for word in range(3):
        y = named[:, word].astype(float)
        wanted = (y - y.mean()) / (y.std() + RAREST)
        rows = np.concatenate([scaled, np.sqrt(0.5 * 60) * np.eye(5)])
        expected = np.linalg.lstsq(rows, np.concatenate([wanted, np.zeros(5)]), rcond=None)[0] / deviation
        np.testing.assert_allclose(found[word], expected, rtol=1e-3, atol=1e-3)
    assert not found[2].any()  # a word that no image has


def test_detectors_know_which_words_exclude_each_other() -> None:
    """Images show a cat, and either "sitting" or "standing" next to it: only the detectors' signs tell these apart."""
    random = np.random.default_rng(1)
    sits = random.random(200) < 0.5
    axes = np.stack([np.ones(200), np.where(sits, 0.3, 0.0), np.where(sits, 0.0, 0.3)], 1)
    vectors = unit(axes + 0.02 * random.normal(size=axes.shape))
    found, _ = fit_detectors(vectors, np.stack([sits, ~sits], 1))
    detected = (vectors - vectors.mean(0)) @ found.T  # [200, 2]
    assert bool(((detected[:, 0] > 0) == sits).all()) and bool(((detected[:, 1] > 0) == ~sits).all())
