"""Several systems on the same references: values, and intervals where there is something to compare."""

from tellapart.metrics.captions.compare import compare

REFERENCES = {"1": ["a dog runs on grass", "the dog runs"], "2": ["a cat sleeps", "a grey cat sleeps here"]}
GOOD = {"1": "a dog runs on grass", "2": "a cat sleeps"}
BAD = {"1": "a man eats", "2": "two men eat"}


def test_two_systems_have_intervals_and_a_difference_from_the_first() -> None:
    found = compare(REFERENCES, {"good": GOOD, "bad": BAD}, metrics=["ROUGE-L"], samples=50)
    assert list(found) == ["good", "bad"]
    assert "interval" in found["good"] and "interval" in found["bad"]
    assert "difference" not in found["good"] and "difference" in found["bad"]
    assert found["good"]["corpus"]["ROUGE-L"] == 1.0 > found["bad"]["corpus"]["ROUGE-L"]


def test_one_system_has_no_interval() -> None:
    found = compare(REFERENCES, {"good": GOOD}, metrics=["ROUGE-L"], samples=50)
    assert "interval" not in found["good"]
