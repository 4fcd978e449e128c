"""Parts of models that the tests of whole models do not notice: first weights, places of patches, edges of decoding."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from frozen_values import changeable
from tellapart.core.errors import InputError
from tellapart.core.types import Texts
from tellapart.features import backbones
from tellapart.images import own_processor
from tellapart.models.captioners.image_projection import ImageProjection
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.models.captioners.teacher_forcing import FEW_WORDS
from tellapart.models.captioners.transformer import Transformer
from tellapart.models.decoding.sampling import complete
from tellapart.models.hub import reading
from tellapart.models.hub.chat import ChatCaptionerModel
from tellapart.models.hub.decoders import patch_boxes, patches
from tellapart.models.hub.source import cannot_open
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.eval_with_gradients import eval_with_gradients
from tellapart.models.layers.lora import Lora, LoraLinear, add_lora, linear_layers
from tellapart.models.layers.pixel_backbone import PixelBackbone
from tellapart.models.layers.projection import feed_forward, linear
from tellapart.models.layers.transformer import positions
from tellapart.models.layers.word_embedding import WordNoise
from tellapart.models.matchers.ltd_baseline import LTDTextEncoder
from tellapart.models.matchers.vsrn import VSRN, OneWayTextEncoder
from tellapart.text.model_tokenizer import SHIFT
from tellapart.text.vocabulary import END, PAD, UNK, Vocabulary
from tiny_captioners import numbered_images, random_table

INPUTS = ModelInputs(Vocabulary.from_words(["a", "dog", "runs"]), 6)


def test_settings_never_change() -> None:
    """Recipes are hashed by them."""
    assert changeable("models") == []


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


def test_adapters_start_as_linear_layers_do() -> None:
    """Uniform within 1 / sqrt(inputs), and a change of zero."""
    torch.manual_seed(0)
    adapter = LoraLinear(nn.Linear(16, 3), rank=64, alpha=64.0)
    largest = adapter.lora_A.weight.abs().max().item()
    assert 0.97 / 4 < largest <= 1 / 4 and not adapter.change().any()


def test_adapters_alone_learn() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ModuleDict({"query": nn.Linear(3, 3), "other": nn.Linear(3, 3)}))
    assert linear_layers(model, ("query",)) == ["1.query"]
    assert add_lora(model, Lora(rank=2, layers=("query",))) == ["1.query"]
    learning = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert learning and all(name.startswith("1.query") for name in learning)


def test_an_error_without_words_is_named_by_its_kind() -> None:
    assert "KeyError" in cannot_open("hf:owner/none", KeyError())
    assert "first line" in cannot_open("hf:owner/none", ValueError("first line\nsecond"))


def test_vsrn_reads_captions_as_ltd_by_default() -> None:
    small = {"embedding": 8, "word_width": 4, "layers": 1}
    assert isinstance(VSRN(**small).build(INPUTS).text, LTDTextEncoder)  # type: ignore[arg-type]
    assert isinstance(VSRN(text="gru", **small).build(INPUTS).text, OneWayTextEncoder)  # type: ignore[arg-type]


def test_a_full_caption_is_complete() -> None:
    """Nothing is added to a prefix that is longer than a caption may be."""
    captioner = random_table(2, 8, 0)
    prefix = torch.tensor([[4, 5, END], [6, 7, 4]])
    assert torch.equal(complete(captioner, captioner.start(numbered_images(2)), prefix, max_words=2), prefix)


def test_patches_stand_in_rows_after_the_class_row() -> None:
    """197 rows are a class row and 14 x 14 patches; five rows are one and 2 x 2; one row is a single patch."""
    assert [patches(rows) for rows in (197, 49, 5, 1, 0)] == [(1, 14), (0, 7), (1, 2), (0, 1), (0, 0)]
    assert patch_boxes(5).tolist() == [
        [0, 0, 1, 1], [0, 0, 0.5, 0.5], [0.5, 0, 1, 0.5], [0, 0.5, 0.5, 1], [0.5, 0.5, 1, 1],
    ]  # fmt: skip
    assert patch_boxes(1).tolist() == [[0, 0, 1, 1]] and patch_boxes(0).shape == (0, 4)


def test_each_caption_has_its_own_dropout_of_a_word() -> None:
    """In training; many captions with the same word and the same state predict different words next."""
    torch.manual_seed(0)
    model = NeuralTalk2(hidden=16, dropout=0.0, word_dropout=0.5).build(INPUTS)
    word = torch.full((4 * FEW_WORDS,), 4)
    state = {name: torch.zeros(len(word), 16) for name in ("hidden", "cell")}
    drawn, same = model.train().step(word, state).logits, model.eval().step(word, state).logits
    assert len(torch.unique(drawn, dim=0)) > 1
    torch.testing.assert_close(same, same[:1].expand_as(same))


def test_unit_features_have_the_length_of_the_root_of_their_width() -> None:
    """Each row alone: (3, 4, 0, 0) becomes (0.6, 0.8, 0, 0) times 2, whatever the number of rows."""
    layer = ImageProjection(4, 4, 0.0, scaling="unit", relu=False)
    nn.init.eye_(layer.project.weight)
    nn.init.zeros_(layer.project.bias)
    rows = torch.tensor([[[3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 0.0, 7.0]]])
    torch.testing.assert_close(layer(rows), torch.tensor([[[1.2, 1.6, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0]]]))


@pytest.mark.parametrize("part", ["text_config", "decoder", ""])
def test_words_are_as_many_as_the_table_of_the_text_model_has(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its configuration is a part of the whole, by one name or another, or the whole."""
    sizes = SimpleNamespace(vocab_size=30)
    config = SimpleNamespace(**{part: sizes}) if part else sizes
    monkeypatch.setattr(reading, "read_config", lambda folder: config)
    monkeypatch.setattr(reading, "open_tokenizer", lambda folder: "tokenizer")
    monkeypatch.setattr(reading, "TokenizerVocabulary", lambda tokenizer, size: (tokenizer, size))
    monkeypatch.setattr(own_processor, "open_processor", lambda folder: None)
    assert reading._opened.__wrapped__("folder", 0).vocabulary == ("tokenizer", 30)


def test_a_chat_answer_ends_at_its_first_end() -> None:
    """Pieces 8 and 9 end an answer; the first answer ends after two pieces, the second not at all."""
    pieces = torch.tensor([[5, 6, 8, 9, 7], [5, 6, 7, 5, 6]])
    chance = torch.tensor([[-1.0, -2.0, -4.0, -8.0, -16.0], [-1.0, -torch.inf, -4.0, -8.0, -16.0]])
    found = ChatCaptionerModel._decoded(SimpleNamespace(ends=[8, 9]), pieces, chance)  # type: ignore[arg-type]
    assert found.tokens.tolist() == [
        [5 + SHIFT, 6 + SHIFT, END, PAD, PAD, PAD],
        [*(piece + SHIFT for piece in (5, 6, 7, 5, 6)), END],
    ]
    assert found.log_probability.tolist() == [-7.0, -29.0]


@pytest.mark.parametrize(
    ("pretrained", "start", "loaded"), [(True, "", True), (True, "run", False), (False, "", False)]
)
def test_a_backbone_is_loaded_once(pretrained: bool, start: str, loaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretrained weights, unless tuned ones take their place."""
    asked: list[bool] = []

    class Found(Exception):
        pass

    def load(name: str, trainable: bool, pretrained: bool) -> None:
        asked.append(pretrained)
        raise Found

    monkeypatch.setattr(backbones, "load_backbone", load)
    with pytest.raises(Found):
        PixelBackbone("any", pretrained=pretrained, start=start)
    assert asked == [loaded]


def test_position_vectors_are_sines_and_cosines() -> None:
    """sin and cos of place / 10000^(2k / width), one after the other."""
    found = positions(4, 6, torch.device("cpu"))
    for place in range(4):
        for k in range(3):
            angle = place / 10000 ** (2 * k / 6)
            assert found[place, 2 * k].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert found[place, 2 * k + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)
    assert positions(2, 3, torch.device("cpu")).shape == (2, 3)


def test_a_decoder_of_targets_has_relu_between_its_layers() -> None:
    """h_omega of LTD: widths 3, 4, 2 are two layers, and no ReLU after the last."""
    torch.manual_seed(0)
    network = feed_forward((3, 4, 2))
    first, last = network[0], network[2]
    values = torch.randn(5, 3)
    hidden = (values @ first.weight.T + first.bias).clamp(min=0)
    assert len(network) == 3
    torch.testing.assert_close(network(values), hidden @ last.weight.T + last.bias)


def test_replaced_words_alone_use_one_draw_per_word() -> None:
    """A word becomes UNK where its draw is below the share; captions keep their length, and so does the next batch."""
    tokens = torch.tensor([[1, 4, 5, 6, 2], [1, 5, 2, 0, 0]])
    noise = WordNoise(replace=0.5).train()
    random = torch.Generator().manual_seed(3)
    torch.manual_seed(3)
    for _ in range(4):
        found = noise(Texts(tokens, torch.tensor([5, 3])))
        draws = torch.rand(tokens.shape, generator=random)
        expected = tokens.clone()
        for row, places in ((0, (1, 2, 3)), (1, (1,))):
            for place in places:
                if draws[row, place] < 0.5:
                    expected[row, place] = UNK
        assert torch.equal(found.tokens, expected) and found.lengths.tolist() == [5, 3]
