"""Self-retrieval: does a caption find the image it was written for (contrastive captioning, section 4.1)?"""

import torch
from torch import Tensor

from tellapart.core.errors import InputError

CUTOFFS = (1, 5, 10)


def self_retrieval(scores: Tensor, owner: Tensor | None = None, cutoffs: tuple[int, ...] = CUTOFFS) -> dict[str, float]:
    """Per cent of captions whose own image is among the first k, from any score matrix [captions, images].

    Owner [captions] is each caption's image (without it caption i belongs to image i). Images that score the
    same as the own one stand before it, so that a model which tells no images apart finds none.

    >>> self_retrieval(torch.tensor([[3.0, 1.0], [2.0, 1.0]]), cutoffs=(1, 2))
    {'top1': 50.0, 'top2': 100.0}
    """
    if scores.ndim != 2:
        raise InputError(f"Self-retrieval needs a score matrix [captions, images]; got shape {tuple(scores.shape)}.")
    captions, images = scores.shape
    if owner is None:
        if captions != images:
            raise InputError(f"{captions} captions for {images} images: say with `owner` which image each describes.")
        owner = torch.arange(captions, device=scores.device)
    if owner.shape != (captions,) or (captions > 0 and not 0 <= int(owner.min()) <= int(owner.max()) < images):
        raise InputError(f"`owner` must name one of the {images} images for each of the {captions} captions.")
    own = scores.gather(1, owner[:, None])
    before = (~(scores < own)).sum(1) - 1  # NaN counts as not worse
    return {f"top{k}": 100.0 * float((before < k).double().mean()) for k in cutoffs}
