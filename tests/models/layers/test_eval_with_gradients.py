"""A gradient without dropout: recurrent layers must be in training mode, all others in eval mode."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from benchmarks import captioning
from torch import nn

from tellapart.core.errors import InputError
from tellapart.models.captioners import CAPTIONERS
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.eval_with_gradients import eval_with_gradients
from tellapart.text.vocabulary import Vocabulary


@pytest.fixture
def as_on_a_gpu() -> Iterator[None]:
    """Recurrent layers that reject what cuDNN rejects: a pass in eval mode that a gradient may follow."""

    def guarded(layer: nn.RNNBase, inputs: Any) -> None:
        if torch.is_grad_enabled() and not layer.training and any(p.requires_grad for p in layer.parameters()):
            raise RuntimeError("cudnn RNN backward can only be called in training mode")

    build = nn.RNNBase.__init__

    def built(layer: nn.RNNBase, *arguments: Any, **named: Any) -> None:
        build(layer, *arguments, **named)
        layer.register_forward_pre_hook(guarded)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nn.RNNBase, "__init__", built)
        yield


def test_modes() -> None:
    """Dropout and batch norm in eval mode, recurrent layers in training mode."""
    model = nn.ModuleDict({"drop": nn.Dropout(), "norm": nn.BatchNorm1d(3), "lstm": nn.LSTM(3, 3), "gru": nn.GRU(3, 3)})
    assert eval_with_gradients(model.train()) is model
    assert {name: layer.training for name, layer in model.items()} == {
        "drop": False,
        "norm": False,
        "lstm": True,
        "gru": True,
    }
    assert not model.training


def test_outputs_are_those_of_eval_mode() -> None:
    torch.manual_seed(0)
    model = nn.LSTM(3, 4)
    inputs = torch.randn(5, 2, 3)
    assert torch.equal(model.eval()(inputs)[0], eval_with_gradients(model)(inputs)[0])


def test_dropout_between_layers_is_rejected() -> None:
    with pytest.raises(InputError, match=r"dropout 0\.5 between its own layers"):
        eval_with_gradients(nn.ModuleDict({"lstm": nn.LSTM(3, 3, num_layers=2, dropout=0.5)}))


@pytest.mark.parametrize("name", captioning.MODELS)
def test_benchmark_steps_have_gradients_on_a_gpu(
    name: str, as_on_a_gpu: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`python -m benchmarks captioning --device cuda` compares steps without dropout and differentiates them."""
    monkeypatch.setattr(captioning, "WORDS", 12)
    monkeypatch.setattr(captioning, "CELLS", 3)
    monkeypatch.setattr(captioning, "WIDTH", 6)
    small = {"hidden": 8} if name == "neuraltalk2" else {"hidden": 8, "attention": 8}
    monkeypatch.setitem(captioning.CAPTIONERS, name, lambda: CAPTIONER[name](**small))
    inputs = ModelInputs(Vocabulary.from_words([f"w{i}" for i in range(12)]), 6, 3)
    owner = torch.arange(2).repeat_interleave(2)
    captioning.compare_steps(
        name, inputs, captioning.some_images(2, "cpu"), captioning.some_sentences(4, "cpu"), owner, "cpu"
    )
    printed = capsys.readouterr().out
    assert "MLE step" in printed and "CL step" in printed


CAPTIONER = dict(CAPTIONERS)
