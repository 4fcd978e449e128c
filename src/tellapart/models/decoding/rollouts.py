"""Expected reward after each word of a caption: the mean reward of random completions (rollouts)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tellapart.core.protocols import Captioner
from tellapart.core.types import Images
from tellapart.models.decoding.sampling import complete
from tellapart.text.vocabulary import END, PAD, START


@torch.no_grad()
def rollout_rewards(
    captioner: Captioner,
    images: Images,
    tokens: Tensor,
    reward: Callable[[Tensor], Tensor],
    rollouts: int,
    max_words: int,
) -> Tensor:
    """Expected rewards [N, T] after each word of `tokens` [N, T] (words, END, PAD); image n belongs to caption n.

    `reward` gives the rewards [N] of whole captions. At END it is the reward of the caption itself.
    """
    state = captioner.start(images)
    word = torch.full_like(tokens[:, 0], START)
    final = reward(tokens)
    expected = []
    for time in range(tokens.shape[1]):
        state = captioner.step(word, state).state  # has now read all words before `time`
        word = tokens[:, time]
        over = (word == END) | (word == PAD)
        if bool(over.all()):
            expected.append(final)
            continue
        total = torch.zeros_like(final)
        for _ in range(rollouts):
            total += reward(complete(captioner, state, tokens[:, : time + 1], max_words))
        expected.append(torch.where(over, final, total / rollouts))
    return torch.stack(expected, 1)
