"""Captions drawn at random for self-critical training: several per image, the image's cells shared between them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tellapart.core.types import Images
from tellapart.models.captioners.transformer import TransformerCaptioner
from tellapart.models.decoding.constraints import NEVER_GENERATED
from tellapart.text.vocabulary import END, PAD, START


def allowed(logits: Tensor) -> Tensor:
    """Logits [..., V] in float32 with PAD, START and UNK out of reach."""
    barred = torch.zeros(logits.shape[-1], dtype=torch.bool, device=logits.device)
    barred[list(NEVER_GENERATED)] = True
    return logits.float().masked_fill(barred, -1e9)


@torch.no_grad()
def draw_captions(captioner: TransformerCaptioner, images: Images, each: int, most_words: int = 20) -> Tensor:
    """[I * each, most_words + 1]: words, END, PAD; image by image. A caption that does not end has no END."""
    state = captioner.start(images)  # no word yet, so that its rows serve any number of captions per image
    count = len(images) * each
    word = torch.full((count,), START, device=images.features.device)
    finished = torch.zeros(count, dtype=torch.bool, device=word.device)
    words = []
    for _ in range(most_words + 1):
        step = captioner.step(word, state)
        state = step.state
        # The largest of p / e with e exponential is a draw from p; it never raises an error on the device.
        chances = allowed(step.logits).softmax(-1)
        word = (chances / torch.empty_like(chances).exponential_()).argmax(-1).masked_fill(finished, PAD)
        finished = finished | (word == END)
        words.append(word)
    return torch.stack(words, 1)


def drawn_log_probability(captioner: TransformerCaptioner, images: Images, drawn: Tensor) -> Tensor:
    """[C, T] log-probability of each drawn word [C, T] (0 for PAD), with gradients."""
    start = torch.full_like(drawn[:, :1], START)
    read = captioner.read(captioner.start(images), torch.cat([start, drawn], 1))
    logits = allowed(captioner.logits(read.hidden)).flatten(0, 1)  # [C T, V]
    lost = functional.cross_entropy(logits, drawn.flatten(), ignore_index=PAD, reduction="none")
    return -lost.view(drawn.shape)
