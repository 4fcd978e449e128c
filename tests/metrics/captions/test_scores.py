"""All metrics in one call."""

import pytest

import tellapart.metrics
from tellapart.core.errors import InputError

CANDIDATES = ["A dog runs.", "Two cats sleep on a mat."]
REFERENCES = [["A dog is running.", "The dog runs"], ["Cats sleep on the mat."]]
QUICK = ("BLEU-1", "BLEU-4", "ROUGE-L", "CIDEr", "CIDEr-D")


def test_lists_and_mappings_agree() -> None:
    lists = tellapart.metrics.evaluate(CANDIDATES, REFERENCES, metrics=QUICK)
    mapped = tellapart.metrics.evaluate(
        {"y": CANDIDATES[1], "x": CANDIDATES[0]}, {"x": REFERENCES[0], "y": REFERENCES[1]}, metrics=QUICK
    )
    assert list(lists) == list(QUICK)
    for name in QUICK:
        assert lists[name].each.tolist() == mapped[name].each.tolist()
    assert lists["CIDEr"].corpus == lists["CIDEr-D"].corpus
    assert lists["ROUGE-L"].each[0] == pytest.approx(2.44 * 2 / 3 * 2 / 3 / (2 / 3 + 1.44 * 2 / 3))


@pytest.mark.parametrize(
    ("candidates", "references", "metrics", "sentence"),
    [
        ({"x": "a"}, {"x": ["a"], "y": ["b"]}, QUICK, "1 of the 2 images of the references have no caption"),
        ({"x": "a", "y": "b"}, {"x": ["a"]}, QUICK, "1 captions in the candidates are for images that are not"),
        ({"x": "a"}, [["a"]], QUICK, "both as lists or both as mappings"),
        (["a"], [["a"]], ("BLEU-9",), "No metric is called BLEU-9"),
        (["a"], [["a"], ["b"]], QUICK, "1 candidates but 2 groups"),
        ({"x": "a dog"}, {"x": "a dog"}, QUICK, "a single string was given where a list belongs"),
        ({"x": ["a dog"]}, {"x": ["a dog"]}, QUICK, "A caption is one string, not list"),
        (["a"], [[None]], QUICK, "A caption is one string, not NoneType"),
    ],
)
def test_refusals(candidates: object, references: object, metrics: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        tellapart.metrics.evaluate(candidates, references, metrics=metrics)  # type: ignore[arg-type]


def test_who_computes_meteor_must_be_known() -> None:
    with pytest.raises(InputError, match="python or java"):
        tellapart.metrics.evaluate(["a"], [["a"]], meteor="perl")  # type: ignore[arg-type]
