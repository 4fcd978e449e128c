"""The worked examples of CONTRIBUTING: each file imports, and its line fits into the dict."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from PIL import Image

import tellapart as ta
from tellapart.cli.main import main
from tellapart.core.protocols import Matcher
from tellapart.core.types import Images, Texts
from tellapart.data.pack import Pack
from tellapart.data.readers import READERS, Reader
from tellapart.evaluation import EVALUATIONS
from tellapart.losses import RANKING_LOSSES, Contrast
from tellapart.metrics.captions.compare import compare
from tellapart.metrics.captions.evaluate import available_metrics
from tellapart.metrics.captions.registry import METRICS, CaptionMetric
from tellapart.models.inputs import ModelInputs
from tellapart.models.matchers import MATCHERS

TEXT = (Path(__file__).resolve().parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def example(heading: str, monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, str]:
    """The file of a section as a module, and the line that its registry gets."""
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    file, line = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    path = re.match(r"# src/tellapart/(\S+)\.py\n", file)
    assert path is not None
    module = ModuleType(f"tellapart.{path.group(1).replace('/', '.')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(file, path.group(1), "exec"), module.__dict__)
    return module, line


def entry(line: str, names: dict[str, object]) -> tuple[str, object]:
    """The key and value that a line adds to a dict."""
    ((key, value),) = eval("{" + line + "}", names).items()
    return key, value


def test_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    module, line = example("Add a loss", monkeypatch)
    name, build = entry(line, vars(module))
    monkeypatch.setitem(RANKING_LOSSES, name, build)  # type: ignore[arg-type]
    loss = Contrast(name, margin=0.0, reduction="sum").build()
    value = loss(torch.zeros(2, 2), torch.tensor([0, 1]))
    # Two pairs, each with one negative caption and one negative image: 4 softplus(0) = 4 ln 2.
    assert value.item() == pytest.approx(4 * torch.tensor(2.0).log().item())


def test_a_model(monkeypatch: pytest.MonkeyPatch, tiny_pack: Path) -> None:
    module, line = example("Add a model", monkeypatch)
    name, settings = entry(line, vars(module))
    monkeypatch.setitem(MATCHERS, name, settings)
    vocabulary = Pack(tiny_pack).vocabulary
    model = MATCHERS[name](embedding=8).build(ModelInputs(vocabulary, feature_width=4))
    assert isinstance(model, Matcher)
    images = Images(torch.rand(3, 1, 4), torch.ones(3, 1, dtype=torch.bool))
    texts = Texts(torch.tensor([[1, 4, 2], [1, 2, 0]]), torch.tensor([3, 2]))
    assert model.score(model.encode_image(images), model.encode_text(texts)).shape == (3, 2)


@pytest.fixture
def readers() -> Iterator[dict[str, Reader]]:
    """The readers, restored in their order, which decides who reads a source."""
    before = dict(READERS)
    yield READERS
    READERS.clear()
    READERS.update(before)


def test_a_reader(readers: dict[str, Reader], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module, line = example("Add a reader", monkeypatch)
    name, reader = entry(line, {"Reader": Reader, "colon": module})
    others = dict(readers)
    readers.clear()
    readers.update({name: reader, **others})  # type: ignore[dict-item]
    source = tmp_path / "photos"
    source.mkdir()
    for image in ("dog.jpg", "cat.jpg"):
        Image.new("RGB", (40, 30)).save(source / image)
    (source / "captions.colon").write_text("dog.jpg: A dog runs.\ncat.jpg: A cat sits.\nno caption here\n")
    assert main(["prepare", str(source), "--out", str(tmp_path / "pack"), "--min-count", "1"]) == 0
    assert [caption.text for caption in Pack(tmp_path / "pack").captions] == ["A dog runs.", "A cat sits."]


def test_a_caption_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    import doctest

    module, line = example("Add a caption metric", monkeypatch)
    name, metric = entry(line, {"CaptionMetric": CaptionMetric, **vars(module)})
    monkeypatch.setitem(METRICS, name, metric)  # type: ignore[arg-type]
    assert doctest.testmod(module).failed == 0
    assert ta.score([["The dog runs."]], ["A dog runs."], metrics=[name]) == {name: pytest.approx(2 / 3)}
    assert name in available_metrics()[0]
    assert compare([["the dog"]], {"x": ["a dog"], "y": ["the dog"]}, [name])["y"]["difference"][name]["value"] == 0.5


def test_a_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    import doctest

    module, line = example("Add a metric", monkeypatch)
    name, function = entry(line, vars(module))
    monkeypatch.setitem(EVALUATIONS, name, function)  # type: ignore[arg-type]
    assert doctest.testmod(module).failed == 0
    assert module.reciprocal_rank(torch.tensor([0, 0])) == 1.0
