"""All metrics in one call."""

import pytest

from tellapart.core.errors import InputError
from tellapart.metrics.captions.evaluate import available_metrics, evaluate
from tellapart.metrics.captions.registry import METRICS, CaptionMetric
from tellapart.metrics.captions.rouge import rouge_l_of

CANDIDATES = ["A dog runs.", "Two cats sleep on a mat."]
REFERENCES = [["A dog is running.", "The dog runs"], ["Cats sleep on the mat."]]
QUICK = ("BLEU-1", "BLEU-4", "ROUGE-L", "CIDEr", "CIDEr-D")


def test_lists_and_mappings_agree() -> None:
    lists = evaluate(CANDIDATES, REFERENCES, metrics=QUICK)
    mapped = evaluate({"y": CANDIDATES[1], "x": CANDIDATES[0]}, {"x": REFERENCES[0], "y": REFERENCES[1]}, metrics=QUICK)
    assert list(lists) == list(QUICK)
    for name in QUICK:
        assert lists[name].each.tolist() == mapped[name].each.tolist()
    assert lists["CIDEr"].corpus == lists["CIDEr-D"].corpus
    assert lists["ROUGE-L"].each[0] == pytest.approx(2.44 * 2 / 3 * 2 / 3 / (2 / 3 + 1.44 * 2 / 3))


@pytest.mark.parametrize(
    ("candidates", "references", "metrics", "message"),
    [
        ({"x": "a"}, {"x": ["a"], "y": ["b"]}, QUICK, "1 of the 2 images of the references have no caption"),
        ({"x": "a", "y": "b"}, {"x": ["a"]}, QUICK, "1 captions are for images without references"),
        ({"x": "a"}, [["a"]], QUICK, "both be lists, or both mappings"),
        (["a"], [["a"]], ("BLEU-9",), "Unknown metric BLEU-9"),
        (["a"], [["a"], ["b"]], QUICK, "1 candidates but 2 groups"),
        ({"x": "a dog"}, {"x": "a dog"}, QUICK, "a single string was given instead of a list"),
        ({"x": ["a dog"]}, {"x": ["a dog"]}, QUICK, "A caption is one string, not list"),
        (["a"], [[None]], QUICK, "A caption is one string, not NoneType"),
    ],
)
def test_invalid_input_raises(candidates: object, references: object, metrics: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(candidates, references, metrics=metrics)  # type: ignore[arg-type]


def test_unknown_meteor_implementation() -> None:
    with pytest.raises(InputError, match="python or java"):
        evaluate(["a"], [["a"]], meteor="perl")  # type: ignore[arg-type]


def missing() -> None:
    raise InputError("The table of synonyms is not installed.")


def test_available_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """A metric is offered unless it is unusual; one with a check, wherever its check passes."""
    for name, metric in {
        "usual": CaptionMetric(lambda captions: rouge_l_of(captions.encoded)),
        "named only": CaptionMetric(lambda captions: rouge_l_of(captions.encoded), usual=False),
        "needs a table": CaptionMetric(lambda captions: rouge_l_of(captions.encoded), check=missing),
        "has its table": CaptionMetric(lambda captions: rouge_l_of(captions.encoded), usual=False, check=lambda: None),
    }.items():
        monkeypatch.setitem(METRICS, name, metric)
    chosen, reasons = available_metrics()
    assert [name for name in chosen if name not in ("METEOR", "SPICE")] == [
        "BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr", "usual", "has its table",
    ]  # fmt: skip
    assert reasons["needs a table"] == "The table of synonyms is not installed."
    assert evaluate(["a"], [["a"]], ["named only"])["named only"].corpus == 1
