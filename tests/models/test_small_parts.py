"""Parts of models that the tests of whole models do not notice: first weights, and layers that must stay usable."""

import pytest
import torch
from torch import nn

from tellapart.core.errors import InputError
from tellapart.models.captioners.transformer import Transformer
from tellapart.models.hub.source import cannot_open
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.eval_with_gradients import eval_with_gradients
from tellapart.models.layers.lora import Lora, add_lora, linear_layers
from tellapart.models.layers.projection import linear
from tellapart.text.vocabulary import Vocabulary


def test_a_linear_layer_starts_without_bias() -> None:
    assert not linear(3, 2).bias.any() and linear(3, 2, bias=False).bias is None


def test_places_and_positions_start_small() -> None:
    """At 0.02, as the words: larger ones would drown what the cells and words say."""
    torch.manual_seed(0)
    model = Transformer(width=64, heads=4).build(
        ModelInputs(Vocabulary(("<pad>", "<start>", "<end>", "<unk>", *"abcdefgh")), 8, 49)
    )
    for weights in (model.places, model.positions, model.words.weight):
        assert float(weights.detach().std()) == pytest.approx(0.02, rel=0.2)


def test_dropout_of_a_single_layer_is_no_dropout_between_layers() -> None:
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        single = nn.LSTM(3, 3, dropout=0.5)
    assert eval_with_gradients(nn.Sequential(single))[0].training
    assert eval_with_gradients(nn.Sequential(nn.GRU(3, 3, 2)))[0].training
    with pytest.raises(InputError, match="between its own layers"):
        eval_with_gradients(nn.Sequential(nn.LSTM(3, 3, 2, dropout=0.5)))


def test_adapters_alone_learn() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ModuleDict({"query": nn.Linear(3, 3), "other": nn.Linear(3, 3)}))
    assert linear_layers(model, ("query",)) == ["1.query"]
    assert add_lora(model, Lora(rank=2, layers=("query",))) == ["1.query"]
    learning = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert learning and all(name.startswith("1.query") for name in learning)


def test_an_error_without_words_is_named_by_its_kind() -> None:
    assert "KeyError" in cannot_open("hf:/nowhere", KeyError())
    assert "first line" in cannot_open("hf:/nowhere", ValueError("first line\nsecond"))
