"""The dual encoder and its text sides; the sentence encoder equals the library it replaces."""

from __future__ import annotations

import pytest
import torch

from tellapart.core.protocols import Matcher
from tellapart.core.types import Images, Texts
from tellapart.losses.info_nce import InfoNCE
from tellapart.models.matchers.dual_encoder import DualEncoderModel
from tellapart.models.matchers.sentence_encoder import SentenceEncoder, SentenceEncoderSize, from_bert
from tellapart.models.matchers.word_gru import LENGTH, WordGru

SMALL = SentenceEncoderSize(words=50, width=24, layers=2, heads=3, feed_forward=32, positions=16)


def test_scores_are_cosines_and_padding_does_not_count() -> None:
    torch.manual_seed(0)
    matcher = DualEncoderModel(8, SentenceEncoder(SMALL), width=12).eval()
    assert isinstance(matcher, Matcher)
    mask = torch.tensor([[True, True, True], [True, True, False]])
    features = torch.randn(2, 3, 8)
    tokens, lengths = torch.tensor([[5, 6, 7, 0], [8, 9, 0, 0]]), torch.tensor([3, 2])
    score = matcher.score(matcher.encode_image(Images(features, mask)), matcher.encode_text(Texts(tokens, lengths)))
    assert score.shape == (2, 2) and float(score.detach().abs().max()) <= 1.0001
    features[1, 2], tokens[1, 2] = 9.0, 11
    again = matcher.score(matcher.encode_image(Images(features, mask)), matcher.encode_text(Texts(tokens, lengths)))
    torch.testing.assert_close(again, score)


def test_sentence_encoder_equals_bert() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=32,
        max_position_embeddings=16,
    )  # fmt: skip
    bert = transformers.BertModel(config).eval()
    mine = SentenceEncoder(SMALL).eval()
    mine.load_state_dict(from_bert(bert.state_dict()))
    tokens = torch.randint(1, 50, (3, 7))
    mask = torch.arange(7) < torch.tensor([[7], [4], [2]])
    theirs = bert(input_ids=tokens, attention_mask=mask.long()).last_hidden_state
    mean = (theirs * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
    torch.testing.assert_close(mine(tokens, mask), mean, atol=1e-5, rtol=1e-5)


def test_word_gru_gives_one_vector_per_caption() -> None:
    side = WordGru(30, width=6, hidden=5)
    tokens = torch.tensor([[4, 5, 0], [6, 0, 0]])
    assert side(tokens, tokens > 0).shape == (2, side.width)


def test_a_captions_gru_vector_does_not_depend_on_what_is_read_with_it() -> None:
    """The direction from the end starts in the padding, so without a fixed length every batch gives another vector."""
    torch.manual_seed(0)
    side = WordGru(30, width=6, hidden=5).eval()
    alone = torch.tensor([[4, 5]])
    beside = torch.tensor([[4, 5, 0, 0, 0], [6, 7, 8, 9, 10]])
    read = side(alone, alone > 0)
    torch.testing.assert_close(side(beside, beside > 0)[:1], read)
    states, _ = side.gru(side.words(alone))
    assert not torch.allclose(states.amax(1), read, atol=1e-3)
    whole = torch.nn.functional.pad(alone, (0, LENGTH - 2))  # as in training
    states, _ = side.gru(side.words(whole))
    torch.testing.assert_close(states[:, :2].amax(1), read)


def test_several_positives_against_a_naive_loop() -> None:
    """Captions of one image are never each other's negatives; every caption is a separate pair."""
    torch.manual_seed(0)
    scores, owner = torch.randn(4, 8, dtype=torch.float64), torch.arange(4).repeat_interleave(2)
    total = 0.0
    for caption in range(8):
        image = int(owner[caption])
        own = scores[image, caption].exp()
        others = sum(scores[image, other].exp() for other in range(8) if int(owner[other]) != image)
        images = scores[:, caption].exp().sum()
        total += 0.5 * float(-torch.log(own / (own + others)) - torch.log(own / images))
    torch.testing.assert_close(InfoNCE(1.0)(scores, owner), torch.tensor(total / 8, dtype=torch.float64))
