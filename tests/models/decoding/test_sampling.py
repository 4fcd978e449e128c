"""Greedy and random words: what may be said, how often, and with which log-probabilities."""

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.core.types import Images
from tellapart.models.decoding import greedy, log_prob, sample, with_start
from tellapart.models.decoding.rollouts import rollout_rewards
from tellapart.text.vocabulary import END, PAD, START, UNK
from tiny_captioners import numbered_images, random_table


@pytest.mark.parametrize(
    "options", [{}, {"top_k": 3}, {"top_p": 0.7}, {"temperature": 2.0}, {"top_k": 5, "top_p": 0.9}]
)
def test_sentences_are_well_formed(options: dict[str, float]) -> None:
    """Words, END, PAD to the end; START, UNK and PAD before END never, though the model likes them best."""
    captioner = random_table(6, 11, 0, sharpness=1.0)
    captioner.table[:, :, [PAD, START, UNK]] += 6
    found = sample(captioner, numbered_images(6), each=20, max_words=7, **options)
    assert found.tokens.shape[0] == 120 and found.tokens.shape[1] <= 8
    ends = (found.tokens == END).int()
    assert (ends.sum(1) == 1).all()
    before = ends.cumsum(1) - ends == 0  # up to and with END
    assert ((found.tokens > UNK) | (found.tokens == END))[before].all()
    assert (found.tokens[~before] == PAD).all()


def test_frequencies_follow_the_model() -> None:
    """First words of 20,000 samples are as frequent as their probabilities, without special tokens: within 4 s.d."""
    captioner = random_table(1, 9, 4, sharpness=1.0)
    torch.manual_seed(0)
    first = sample(captioner, numbered_images(1), each=20_000, max_words=1).tokens[:, 0]
    allowed = [END, 4, 5, 6, 7, 8]
    expected = captioner.table[0, START, allowed].softmax(0)
    counted = torch.stack([(first == word).float().mean() for word in allowed])
    spread = (expected * (1 - expected) / 20_000).sqrt()
    assert ((counted - expected).abs() < 4 * spread).all()


def test_both_log_probabilities() -> None:
    """`log_probability` is the model's own; `word_log_probability` is what was drawn from, 0 for a forced END."""
    captioner, images = random_table(5, 9, 2), numbered_images(5)
    found = sample(captioner, images, each=4, max_words=4)
    owner = torch.arange(5).repeat_interleave(4)
    torch.testing.assert_close(found.log_probability, log_prob(captioner, images, with_start(found.tokens), owner))
    forbidden_words = captioner.table.clone()
    forbidden_words[:, :, [PAD, START, UNK]] = -torch.inf
    before = with_start(found.tokens)[:, :-1]
    drawn = forbidden_words.log_softmax(-1)[owner.unsqueeze(1), before].gather(2, found.tokens.unsqueeze(2)).squeeze(2)
    drawn = drawn.masked_fill(found.tokens == PAD, 0.0)
    drawn[:, 4:] = 0.0  # the fifth place can only be END
    torch.testing.assert_close(found.word_log_probability, drawn)


def test_truncation() -> None:
    """p = (0.5, 0.3, 0.15, 0.05) over END and three words: top-k 2 leaves two, top-p 0.6 leaves the two that
    reach it."""
    captioner = random_table(1, 7, 0)
    captioner.table[:] = -torch.inf
    captioner.table[0, :, [END, 4, 5, 6]] = torch.tensor([0.15, 0.5, 0.3, 0.05]).log()
    images = numbered_images(1)
    assert set(sample(captioner, images, 500, max_words=1, top_k=2).tokens[:, 0].tolist()) == {4, 5}
    assert set(sample(captioner, images, 500, max_words=1, top_p=0.6).tokens[:, 0].tolist()) == {4, 5}
    assert set(sample(captioner, images, 500, max_words=1, top_p=0.4).tokens[:, 0].tolist()) == {4}
    assert set(sample(captioner, images, 500, max_words=1, temperature=0.05).tokens[:, 0].tolist()) == {4}


@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"top_p": 0.0}, {"top_p": 1.5}, {"top_k": -1}, {"each": 0}])
def test_what_cannot_be_drawn_from_is_rejected(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"temperature|top_p|at least 1"):
        sample(random_table(2, 9, 0), numbered_images(2), **options)  # type: ignore[arg-type]


def test_gradient_reaches_the_model() -> None:
    captioner = random_table(3, 9, 1)
    captioner.table.requires_grad_(True)
    found = sample(captioner, numbered_images(3), each=2)
    found.word_log_probability.sum().backward()
    assert captioner.table.grad is not None and captioner.table.grad.abs().sum() > 0


def test_greedy_takes_the_likeliest() -> None:
    captioner = random_table(4, 9, 6)
    found = greedy(captioner, numbered_images(4), max_words=3)
    for image in range(4):
        word = START
        for said in found.tokens[image].tolist()[:3]:
            if word == END:
                break
            row = captioner.table[image, word].clone()
            row[[PAD, START, UNK]] = -torch.inf
            assert said == int(row.argmax())
            word = said


def test_rollouts_of_a_certain_model() -> None:
    """Where each next word is certain, every completion is the sentence itself, and so is the reward: its length."""
    captioner = random_table(1, 7, 0)
    captioner.table[:] = -40.0
    for word, after in ((START, 4), (4, 5), (5, 6), (6, END)):
        captioner.table[0, word, after] = 40.0
    images = numbered_images(1)
    said = sample(captioner, images).tokens
    assert said.tolist() == [[4, 5, 6, END]]
    expected = rollout_rewards(captioner, images, said, lambda t: (t != PAD).sum(1).float(), 2, max_words=9)
    assert expected.tolist() == [[4.0, 4.0, 4.0, 4.0]]


def test_samples_share_the_rows_of_their_image() -> None:
    """Without gradients the state of an image is not copied per caption; the captions are the same."""
    from tellapart.models.captioners.transformer import Transformer
    from tellapart.models.inputs import ModelInputs
    from tellapart.text.vocabulary import Vocabulary

    torch.manual_seed(0)
    words = Vocabulary.from_words([f"w{number}" for number in range(9)])
    config = Transformer(width=16, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=16)
    captioner = config.build(ModelInputs(words, 5, 3)).eval()
    images = Images(torch.randn(2, 3, 5), torch.ones(2, 3, dtype=torch.bool))
    copied = sample(captioner, images, each=4, max_words=5, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        shared = sample(captioner, images, each=4, max_words=5, generator=torch.Generator().manual_seed(1))
    assert copied.tokens.tolist() == shared.tokens.tolist()
    torch.testing.assert_close(copied.log_probability.detach(), shared.log_probability)
