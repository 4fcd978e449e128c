"""Sentences with moved and dropped words: what a denoising autoencoder reads (Lample et al. 2018, section 2.3)."""

from __future__ import annotations

import torch
from torch import Tensor

from tellapart.text.vocabulary import END, PAD


def noised(tokens: Tensor, places: float = 3.0, dropped: float = 0.1) -> Tensor:
    """Sentences [N, T] (words, END, PAD) whose words moved by at most `places` and are left out with probability
    `dropped`; END still follows the last word.

    Word i is sorted by i + u, with u uniform between 0 and `places` + 1: two words change places only if they were at
    most `places` apart.
    """
    place = torch.arange(tokens.shape[1], device=tokens.device, dtype=torch.float32)  # [T]
    order = place + torch.rand(tokens.shape, device=tokens.device) * (places + 1)  # [N, T]
    word = (tokens != PAD) & (tokens != END)
    gone = (word & (torch.rand(tokens.shape, device=tokens.device) < dropped)) | (tokens == PAD)
    far = 2.0 * (tokens.shape[1] + places + 1)
    order = order.masked_fill(tokens == END, far).masked_fill(gone, 2 * far)
    return tokens.masked_fill(gone, PAD).gather(1, order.argsort(1))
