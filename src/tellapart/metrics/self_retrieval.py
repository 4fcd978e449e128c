"""Self-retrieval: does a caption find the picture it was written for (contrastive captioning, section 4.1)?"""

import torch
from torch import Tensor

from tellapart.errors import InputError

CUTOFFS = (1, 5, 10)


def self_retrieval(scores: Tensor, owner: Tensor | None = None, cutoffs: tuple[int, ...] = CUTOFFS) -> dict[str, float]:
    """Per cent of captions whose own picture is among the first k, from any score matrix [captions, pictures].

    Owner [captions] is each caption's picture (without it caption i belongs to picture i). Pictures that score the
    same as the own one stand before it, so that a model which tells no pictures apart finds none.

    >>> self_retrieval(torch.tensor([[3.0, 1.0], [2.0, 1.0]]), cutoffs=(1, 2))
    {'top1': 50.0, 'top2': 100.0}
    """
    if scores.ndim != 2:
        raise InputError(f"Self-retrieval needs a score matrix [captions, pictures]; got shape {tuple(scores.shape)}.")
    captions, pictures = scores.shape
    if owner is None:
        if captions != pictures:
            raise InputError(
                f"{captions} captions for {pictures} pictures: say with `owner` which picture each describes."
            )
        owner = torch.arange(captions, device=scores.device)
    if owner.shape != (captions,) or (captions > 0 and not 0 <= int(owner.min()) <= int(owner.max()) < pictures):
        raise InputError(f"`owner` must name one of the {pictures} pictures for each of the {captions} captions.")
    own = scores.gather(1, owner[:, None])
    before = (~(scores < own)).sum(1) - 1  # NaN counts as not worse
    return {f"top{k}": 100.0 * float((before < k).double().mean()) for k in cutoffs}
