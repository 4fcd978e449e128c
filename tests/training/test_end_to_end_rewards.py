"""Rewards of end-to-end training: being before look-alikes, and rare words that are true."""

import math

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.metrics.captions.token_reward import TokenCider
from tellapart.models.captioners.transformer import Transformer, TransformerCaptioner
from tellapart.models.matchers.dual_encoder import DualEncoderModel
from tellapart.models.matchers.word_gru import WordGru
from tellapart.text.vocabulary import END, PAD, START, Vocabulary
from tellapart.training.end_to_end.object_words import ObjectWords
from tellapart.training.end_to_end.rare_words import RareWords
from tellapart.training.end_to_end.rewards import Rewards, RewardWeights, nearest
from tellapart.training.end_to_end.self_critical import SelfCritical, train_self_critical
from tellapart.training.end_to_end.word_bias import WordBias
from tellapart.training.end_to_end.words import PiecesOfWords

WORDS = Vocabulary.from_words(["a", "dog", "sofa", "kite", "red", "on", "the", "cat"])
A, DOG, SOFA, KITE = (WORDS.ids[word] for word in ("a", "dog", "sofa", "kite"))


def captions(*texts: str, length: int = 6) -> torch.Tensor:
    """Word ids with END and padding, without START."""
    rows = [[*WORDS.encode(text.split()), END] for text in texts]
    return torch.tensor([row + [PAD] * (length - len(row)) for row in rows])


def references() -> torch.Tensor:
    """[2, 2, 7] with START: a dog and a sofa, and twice a dog."""
    said = captions("a dog", "a a sofa", "a dog", "a dog")
    return torch.cat([torch.full((4, 1), START), said], 1).view(2, 2, -1)


def test_rare_words_by_hand() -> None:
    """9 words: a 5, dog 3, sofa 1. Held at 1/3, a gains nothing and dog neither; sofa gains ln(1/3 : 1/9) = ln 3."""
    rare = RareWords(references(), len(WORDS), WordBias(strength=1.0, least=0.01, most=1 / 3))
    assert rare.gain[[A, DOG, SOFA]].tolist() == pytest.approx([0, 0, math.log(3)], abs=1e-6)
    drawn = captions("a sofa", "sofa a sofa", "a kite", "a sofa", "")
    drawn[0, 4] = SOFA  # after END
    found = rare(drawn, torch.tensor([0, 0, 0, 1, 0]))
    assert found.tolist() == pytest.approx([math.log(3), math.log(3), 0, 0, 0], abs=1e-6)


def world(rare: RareWords | None = None) -> tuple[Rewards, torch.Tensor]:
    torch.manual_seed(0)
    every = references()
    cider = TokenCider.from_references(every[:, :, 1:].flatten(0, 1), torch.arange(2).repeat_interleave(2))
    vectors = torch.nn.functional.normalize(torch.randn(2, 10), dim=1)
    matcher = DualEncoderModel(8, WordGru(len(WORDS), 6, 6), 10).eval()
    parts = (cider, matcher, PiecesOfWords(WORDS, WORDS), ObjectWords(WORDS), vectors, nearest(vectors, 1))
    return Rewards(*parts, torch.zeros(2, 80).bool(), 10.0, rare), vectors


def test_being_before_look_alikes_against_a_loop() -> None:
    rewards, vectors = world()
    drawn, rows = captions("a dog", "a red kite", "a sofa", "the cat"), torch.tensor([0, 1])
    weights = RewardWeights(cider=0, retrieval=0.5, untrue=0, apart=2)
    found = rewards(drawn, rows, weights)
    pieces = rewards.pieces(drawn)
    texts = rewards.matcher.text_vectors(pieces, pieces > 0).detach()
    for row in range(4):
        own = row // 2
        scores = [10 * float(texts[row] @ vectors[image]) for image in (own, 1 - own)]
        ahead = 1 / (1 + math.exp(scores[1] - scores[0]))
        # The batch is both images, and the one look-alike is in it, too.
        among = scores[0] - math.log(math.exp(scores[0]) + 2 * math.exp(scores[1]))
        assert float(found["apart"][row]) == pytest.approx(ahead, abs=1e-5)
        assert float(found["reward"][row]) == pytest.approx(2 * ahead + 0.5 * among, abs=1e-4)


def test_rare_words_are_added_to_the_reward() -> None:
    rewards, _ = world(RareWords(references(), len(WORDS)))
    drawn, rows = captions("a sofa", "a kite", "a dog", "a sofa"), torch.tensor([0, 1])
    found = rewards(drawn, rows, RewardWeights(cider=0, retrieval=0, untrue=0, rare=0.5))
    assert found["reward"].tolist() == pytest.approx((0.5 * found["rare"]).tolist())
    with pytest.raises(ta.Error, match="RareWords"):
        world()[0](drawn, rows, RewardWeights(rare=1))


def test_the_average_is_kept_during_training() -> None:
    rewards, _ = world()
    captioner = TransformerCaptioner(Transformer(width=16, heads=2, feed_forward=16), len(WORDS), 8, 4)
    settings = SelfCritical(batch=2, each=2, most_steps=3, seconds=60, most_words=4, keep_every=0.0)
    kept: list[float] = []
    train_self_critical(
        captioner, torch.randn(2, 4, 8), references(), rewards, lambda: np.arange(2), settings, lambda line: None,
        keep=lambda model: kept.append(float(model.bias.detach().sum())),
    )  # fmt: skip
    assert len(kept) == 3 and len(set(kept)) == 3
