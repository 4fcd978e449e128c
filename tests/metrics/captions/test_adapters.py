"""Our caption metrics through torchmetrics and evaluate: the same values as `score`."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.metrics.captions import for_torchmetrics
from tellapart.metrics.captions.for_evaluate import NAME, evaluate_module
from tellapart.metrics.captions.score import score

CAPTIONS = ["A dog runs.", "two cats sleep on a sofa", "a réd bus"]
REFERENCES = [["A dog is running.", "The dog runs"], ["cats on a couch"], ["a red bus", "the bus"]]
METRICS = ("BLEU-4", "ROUGE-L", "CIDEr")


class FakeMetric:
    """The part of `torchmetrics.Metric` that a metric with one list state uses."""

    def __init__(self, **options: Any) -> None:
        self.device, self.defaults = torch.device("cpu"), {}

    def add_state(self, name: str, default: list[Any], dist_reduce_fx: str) -> None:
        assert default == [] and dist_reduce_fx == "cat"
        self.defaults[name] = default
        setattr(self, name, [])

    def reset(self) -> None:
        for name in self.defaults:
            setattr(self, name, [])


@pytest.fixture(params=["fake", "real"])
def metric(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The metric on a stand-in for torchmetrics, and on torchmetrics itself where it is installed."""
    if request.param == "real":
        pytest.importorskip("torchmetrics", reason="needs torchmetrics")
    else:
        fake = types.ModuleType("torchmetrics")
        fake.Metric = FakeMetric  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "torchmetrics", fake)
    for_torchmetrics._metric_class.cache_clear()
    yield for_torchmetrics.caption_metric(METRICS)
    for_torchmetrics._metric_class.cache_clear()


def test_updates_add_up_to_the_corpus(metric: Any) -> None:
    metric.update(CAPTIONS[:1], REFERENCES[:1])
    metric.update(CAPTIONS[1:], REFERENCES[1:])
    found = {name: float(value) for name, value in metric.compute().items()}
    assert found == pytest.approx(score(REFERENCES, CAPTIONS, METRICS), abs=1e-6)
    metric.captions = torch.cat(metric.captions)  # as torchmetrics leaves it after gathering
    metric._computed = None
    assert {name: float(value) for name, value in metric.compute().items()} == pytest.approx(found)


def test_a_reset_forgets_and_counts_must_fit(metric: Any) -> None:
    metric.update("a dog", ["a dog"])
    metric.reset()
    with pytest.raises(InputError, match="2 captions and 1 groups"):
        metric.update(["a", "b"], [["a"]])


def test_without_torchmetrics_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    for_torchmetrics._metric_class.cache_clear()
    with pytest.raises(InputError, match="pip install torchmetrics"):
        for_torchmetrics.caption_metric()


def test_the_module_is_where_evaluate_looks() -> None:
    folder = Path(evaluate_module())
    assert (folder / f"{NAME}.py").is_file() and folder.name == NAME


def test_evaluate_opens_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    evaluate = pytest.importorskip("evaluate", reason="needs Hugging Face's evaluate")
    loaded = evaluate.load(evaluate_module(), cache_dir=str(tmp_path))
    found = loaded.compute(predictions=CAPTIONS, references=REFERENCES, metrics=METRICS)
    assert found == pytest.approx(score(REFERENCES, CAPTIONS, METRICS))
    single = loaded.compute(predictions=["a dog"], references=["a dog"], metrics=("BLEU-1",))
    assert single["BLEU-1"] == pytest.approx(1, abs=1e-6)


def test_the_module_computes_with_a_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without evaluate: its base class hands predictions and references to `_compute`."""
    for name, parts in {"evaluate": ("Metric", "MetricInfo"), "datasets": ("Features", "Value", "Sequence")}.items():
        fake = types.ModuleType(name)
        for part in parts:
            setattr(fake, part, type(part, (), {"__init__": lambda self, *given, **named: None}))
        monkeypatch.setitem(sys.modules, name, fake)
    made: dict[str, Any] = {}
    exec(compile((Path(evaluate_module()) / f"{NAME}.py").read_text(), NAME, "exec"), made)
    metric = made["TellapartCaptions"]()
    metric._info()
    found = metric._compute(predictions=CAPTIONS, references=REFERENCES, metrics=METRICS)
    assert found == pytest.approx(score(REFERENCES, CAPTIONS, METRICS))
