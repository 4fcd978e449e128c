"""Log-probability of given captions: ln p(c | I), summed over words and END (contrastive captioning paper, Eq. 1).

UNK counts as an ordinary word.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tellapart.core.precision import at_least_float
from tellapart.core.protocols import Captioner
from tellapart.core.recording import recording
from tellapart.core.types import Images
from tellapart.models.captioners.teacher_forcing import Predictions, predictions
from tellapart.text.vocabulary import PAD, START


def word_log_probabilities(found: Predictions) -> Tensor:
    """The log-probability of each word [C, T - 1], 0 at padding."""
    logits = at_least_float(found.logits)
    words = -functional.cross_entropy(logits, found.targets, reduction="none", ignore_index=PAD)  # [M]
    if recording():
        return words.view_as(found.mask)
    return torch.zeros(found.mask.shape, dtype=words.dtype, device=words.device).masked_scatter(found.mask, words)


def log_prob(captioner: Captioner, images: Images, tokens: Tensor, owner: Tensor | None = None) -> Tensor:
    """ln p(caption j | image owner[j]) [C] for `tokens` [C, T] = START … END PAD; differentiable."""
    return word_log_probabilities(predictions(captioner, images, tokens, owner)).sum(1)


def with_start(tokens: Tensor) -> Tensor:
    """Decoded tokens (words, END, PAD) with START before them, as captioners and matchers read them: [N, T + 1]."""
    return torch.cat([torch.full_like(tokens[:, :1], START), tokens], 1)
