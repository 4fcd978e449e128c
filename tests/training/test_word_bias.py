"""Rare words of a captioner become likelier, frequent and special ones stay as they are."""

import math

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.models.captioners.transformer import Transformer, TransformerCaptioner
from tellapart.text.vocabulary import END, PAD, START, UNK
from tellapart.training.end_to_end.word_bias import WordBias, adjust_word_bias, word_gain, word_shares

# Words 4 to 7, eight of them in all: shares 4/8, 3/8, 1/8, 0.
REFERENCES = torch.tensor([[START, 4, 5, 4, END, PAD], [START, 4, 5, 6, END, PAD], [START, 4, 5, UNK, END, PAD]])


def captioner() -> TransformerCaptioner:
    torch.manual_seed(0)
    return TransformerCaptioner(Transformer(width=8, heads=2, feed_forward=8), 8, 5, 3)


def test_shares_equal_a_plain_loop() -> None:
    counts = [0] * 8
    for row in REFERENCES.tolist():
        for word in row:
            counts[word] += word > UNK
    assert counts == [0, 0, 0, 0, 4, 3, 1, 0]
    assert word_shares(REFERENCES, 8).tolist() == pytest.approx([count / 8 for count in counts])


def test_gain_by_hand() -> None:
    """most 0.4: word 4 (0.5) gains nothing, word 5 (0.375) 2 ln(0.4 / 0.375), word 6 (0.125) 2 ln 3.2; word 7 never
    occurs and gains as if its share were 0.1."""
    gain = word_gain(word_shares(REFERENCES, 8), WordBias(strength=2, least=0.1, most=0.4))
    expected = [0, 0, 0, 0, 0, 2 * math.log(0.4 / 0.375), 2 * math.log(0.4 / 0.125), 2 * math.log(4)]
    assert gain.tolist() == pytest.approx(expected, abs=1e-6)


def test_only_the_bias_changes_and_rare_words_become_likelier() -> None:
    before, model = captioner(), captioner()
    settings = WordBias(strength=1, least=0.1, most=0.5)
    adjusted = adjust_word_bias(model, REFERENCES.unsqueeze(1), settings)
    assert adjusted is model
    for name, value in before.state_dict().items():
        assert torch.equal(value, model.state_dict()[name]) == (name != "bias")
    gained = (model.bias - before.bias).detach()
    assert gained.tolist() == pytest.approx(word_gain(word_shares(REFERENCES, 8), settings).tolist())
    hidden = torch.randn(8)
    was, now = (one.logits(hidden).log_softmax(-1).detach() for one in (before, model))
    assert now[6] - now[4] == pytest.approx(float(was[6] - was[4]) + math.log(0.5 / 0.125), abs=1e-5)


def test_strength_zero_changes_nothing() -> None:
    model, before = captioner(), captioner()
    adjust_word_bias(model, REFERENCES, WordBias(strength=0))
    assert torch.equal(model.bias, before.bias)


def test_invalid_settings_and_references_raise() -> None:
    for wrong in ({"strength": -1.0}, {"least": 0.0}, {"least": 0.5, "most": 0.1}, {"most": 2.0}):
        with pytest.raises(InputError):
            WordBias(**wrong)
    with pytest.raises(InputError, match="no word of the vocabulary"):
        adjust_word_bias(captioner(), torch.tensor([[START, UNK, END]]), WordBias())
