"""Attention roll-out (Abnar and Zuidema 2020, section 3) through a decoder that attends to an image.

After a layer with a residual connection, half of a vector is itself and half is what it attended to. M [t, R] is how
much of each word's vector is of each row of the image: A (words to words) and C (words to rows) of each layer change it
to 1/4 (I + A) M + 1/2 C.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tellapart.core.errors import InputError


def roll_out(own: Sequence[Tensor | None] | None, cross: Sequence[Tensor | None] | None) -> Tensor:
    """Shares [N, t, R] of the rows of an image in each word, which sum to one.

    own: attention of words to words [N, H, t, t] of each layer; cross: of words to rows [N, H, t, R].
    """
    pairs = [(a, c) for a, c in zip(own or (), cross or ()) if a is not None and c is not None]
    if not pairs:
        raise InputError("This model gives no attention over the image.")
    shares = torch.zeros_like(pairs[0][1].float().mean(1))  # M [N, t, R]
    for words, rows in pairs:
        mixed = shares + words.float().mean(1) @ shares  # (I + A) M
        shares = mixed / 4 + rows.float().mean(1) / 2
    return shares / shares.sum(2, keepdim=True).clamp(min=1e-12)
