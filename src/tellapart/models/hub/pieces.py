"""Token ids of a tokenizer's vocabulary as the pieces that its model reads."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tellapart.text.model_tokenizer import SHIFT
from tellapart.text.vocabulary import UNK


def as_pieces(
    tokens: Tensor, first: Sequence[int], last: Sequence[int], padding: int, most: int
) -> tuple[Tensor, Tensor]:
    """Token ids [C, T] (START … END PAD) as the model reads them: piece ids [C, L] and their mask [C, L].

    Texts are cut so that at most `most` pieces remain; the pieces that the tokenizer adds are kept. UNK, which no text
    of this vocabulary has, is dropped.
    """
    room = max(0, most - len(first) - len(last))
    real = (tokens > UNK) & ((tokens > UNK).cumsum(1) <= room)  # [C, T]
    before, after = (tokens.new_tensor(list(pieces)).expand(len(tokens), -1) for pieces in (first, last))
    pieces = torch.cat([before, tokens - SHIFT, after], 1)
    kept = torch.cat([torch.ones_like(before, dtype=torch.bool), real, torch.ones_like(after, dtype=torch.bool)], 1)
    order = (~kept).long().argsort(dim=1, stable=True)
    longest = int(kept.sum(1).max()) if len(tokens) else 0
    order = order[:, :longest]
    mask = kept.gather(1, order)
    return pieces.gather(1, order).masked_fill(~mask, padding), mask
