"""The transformer captioner keeps the captioner's contract: step equals forward, rows are independent, masks hold."""

from __future__ import annotations

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.types import Images
from tellapart.models.captioners.transformer import Transformer, TransformerCaptioner
from tellapart.models.decoding import beam, greedy
from tellapart.text.vocabulary import END, START
from tellapart.training.end_to_end.joint import all_real, likelihood_loss
from tellapart.training.end_to_end.sampling import draw_captions, drawn_log_probability

WORDS, CELLS, WIDTH = 20, 9, 16


@pytest.fixture
def captioner() -> TransformerCaptioner:
    torch.manual_seed(0)
    return TransformerCaptioner(Transformer(width=32, heads=4, feed_forward=48), WORDS, WIDTH, CELLS).eval()


def some_images(count: int = 3) -> Images:
    mask = torch.ones(count, CELLS, dtype=torch.bool)
    mask[1, 5:] = False
    return Images(torch.randn(count, CELLS, WIDTH), mask)


def some_tokens(count: int = 3, length: int = 7) -> torch.Tensor:
    tokens = torch.randint(4, WORDS, (count, length))
    tokens[:, 0] = START
    return tokens


def test_step_equals_forward(captioner: TransformerCaptioner) -> None:
    images, tokens = some_images(), some_tokens()
    forced = captioner(images, tokens)
    state = captioner.start(images)
    assert isinstance(captioner, Captioner)
    for time in range(tokens.shape[1] - 1):
        step = captioner.step(tokens[:, time], state)
        state = step.state
        torch.testing.assert_close(step.logits, forced.logits[:, time])
        torch.testing.assert_close(step.attention, forced.attention[:, time])


def test_rows_do_not_depend_on_the_batch(captioner: TransformerCaptioner) -> None:
    images, tokens = some_images(), some_tokens()
    together = captioner(images, tokens).logits
    for row in range(3):
        alone = captioner(images.select(torch.tensor([row])), tokens[row : row + 1]).logits
        torch.testing.assert_close(alone[0], together[row])


def test_masked_cells_and_later_words_are_not_read(captioner: TransformerCaptioner) -> None:
    images, tokens = some_images(), some_tokens()
    before = captioner(images, tokens)
    changed = images.features.clone()
    changed[1, 5:] = 7.0
    after = captioner(Images(changed, images.mask), tokens)
    torch.testing.assert_close(after.logits, before.logits)
    assert float(before.attention[1, :, 5:].detach().max()) == 0.0
    later = tokens.clone()
    later[:, 4:] = 5
    torch.testing.assert_close(captioner(images, later).logits[:, :4], before.logits[:, :4])


def test_attention_sums_to_one(captioner: TransformerCaptioner) -> None:
    attention = captioner(some_images(), some_tokens()).attention
    torch.testing.assert_close(attention.sum(-1), torch.ones(3, 6))


def test_several_captions_share_the_cells_of_an_image(captioner: TransformerCaptioner) -> None:
    images, tokens = some_images(), some_tokens(6)
    hidden = captioner.read(captioner.start(images), tokens).hidden
    copies = images.select(torch.arange(3).repeat_interleave(2))
    torch.testing.assert_close(captioner.logits(hidden), captioner(copies, tokens).logits)


def test_gradient_reaches_the_encoder_and_the_features(captioner: TransformerCaptioner) -> None:
    features = torch.randn(2, CELLS, WIDTH, requires_grad=True)
    likelihood_loss(captioner, features, some_tokens(4).view(2, 2, -1), 0.1).backward()
    assert float(features.grad.abs().sum()) > 0
    assert all(p.grad is not None for p in captioner.parameters())
    assert float(captioner.encoder[0].attention.query.weight.grad.abs().sum()) > 0


def test_decoding_with_shared_cells_equals_copies(captioner: TransformerCaptioner) -> None:
    images = some_images()
    shared = beam(captioner, images, 3, max_words=6)
    captioner.image_state = ()
    copied = beam(captioner, images, 3, max_words=6)
    assert torch.equal(shared.tokens, copied.tokens)
    torch.testing.assert_close(shared.log_probability, copied.log_probability)
    assert greedy(captioner, images, 6).tokens.shape[0] == 3


def test_drawn_captions_and_their_log_probability(captioner: TransformerCaptioner) -> None:
    images = all_real(torch.randn(2, CELLS, WIDTH))
    drawn = draw_captions(captioner, images, each=3, most_words=5)
    assert drawn.shape == (6, 6)
    assert not bool(((drawn == START) | (drawn == 3)).any())
    after = ((drawn == END).cumsum(1) - (drawn == END).long()) > 0
    assert bool((drawn[after] == 0).all())
    values = drawn_log_probability(captioner, images, drawn)
    state = captioner.start(images.select(torch.tensor([1])))
    logits = captioner.step(torch.tensor([START]), state).logits[0].clone()
    logits[[0, 1, 3]] = -torch.inf
    torch.testing.assert_close(values[3, 0], logits.log_softmax(0)[drawn[3, 0]])


def test_captions_longer_than_the_positions_are_rejected(captioner: TransformerCaptioner) -> None:
    with pytest.raises(InputError, match="up to 64 tokens per caption, not 69"):
        captioner(some_images(), some_tokens(length=70))
