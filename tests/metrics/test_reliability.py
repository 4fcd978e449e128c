"""Reliability of probabilities, worked by hand and against a loop."""

import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.metrics.reliability import at_threshold, calibration_error, reliability


def test_bins_by_hand() -> None:
    """0.5 belongs to the upper half, 1 to the last bin."""
    assert [one.count for one in reliability([0.0, 1.0], [False, True], bins=2)] == [1, 1]
    low, high = reliability([0.1, 0.3, 0.5, 1.0], [True, False, True, True], bins=2)
    assert (low.count, low.confidence, low.true) == (2, pytest.approx(0.2), 0.5)
    assert (high.count, high.confidence, high.true) == (2, pytest.approx(0.75), 1.0)
    assert calibration_error([low, high]) == pytest.approx((2 * 0.3 + 2 * 0.25) / 4)


def test_an_empty_bin_counts_nothing() -> None:
    bins = reliability([0.05, 0.95], [False, True], bins=10)
    assert math.isnan(bins[5].true) and bins[5].count == 0
    assert bins[5].confidence == pytest.approx(0.55)  # its middle
    assert calibration_error(bins) == pytest.approx(0.05)


def test_calibrated_draws_against_a_loop() -> None:
    random = np.random.default_rng(0)
    p = random.uniform(size=20_000)
    true = random.uniform(size=len(p)) < p
    bins = reliability(p.tolist(), true.tolist())
    assert calibration_error(bins) < 0.02
    assert calibration_error(reliability((1 - p).tolist(), true.tolist())) > 0.4
    for one in bins:
        inside = [value for value in p if one.low <= value < one.high]
        assert one.count == len(inside) and one.confidence == pytest.approx(np.mean(inside))


def test_thresholds() -> None:
    found = at_threshold([0.2, 0.6, 0.6, 0.9], [False, True, False, True], 0.6)
    assert (found.count, found.true, found.true_below) == (3, pytest.approx(2 / 3), 0.0)
    assert math.isnan(at_threshold([0.1], [True], 0.5).true)


def test_wrong_input() -> None:
    with pytest.raises(ta.Error, match="equally many"):
        reliability([0.1], [])
    with pytest.raises(ta.Error, match="between 0 and 1"):
        at_threshold([1.2], [True], 0.5)
