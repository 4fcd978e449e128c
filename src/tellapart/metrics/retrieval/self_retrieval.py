"""Self-retrieval: does a generated caption retrieve its image (contrastive captioning paper, section 4.1)?"""

import torch
from torch import Tensor

from tellapart.core.errors import InputError

CUTOFFS = (1, 5, 10)


def self_retrieval(scores: Tensor, owner: Tensor | None = None, cutoffs: tuple[int, ...] = CUTOFFS) -> dict[str, float]:
    """Percentage of captions whose own image is among the first k, from any score matrix [captions, images].

    owner [captions] is each caption's image; by default caption i belongs to image i. Images with the same score as the
    own one rank before it, so equal scores everywhere give 0.

    >>> self_retrieval(torch.tensor([[3.0, 1.0], [2.0, 1.0]]), cutoffs=(1, 2))
    {'top1': 50.0, 'top2': 100.0}
    """
    ranks = self_retrieval_ranks(scores, owner)
    return {f"top{k}": 100.0 * float((ranks < k).double().mean()) for k in cutoffs}


def self_retrieval_ranks(scores: Tensor, owner: Tensor | None = None) -> Tensor:
    """The rank [captions] of each caption's own image; 0 is first. Ties and NaN count against the caption.

    >>> self_retrieval_ranks(torch.tensor([[3.0, 1.0], [torch.nan, torch.nan]])).tolist()
    [0, 1]
    """
    if scores.ndim != 2:
        raise InputError(f"scores must be a matrix [captions, images], not of shape {tuple(scores.shape)}.")
    captions, images = scores.shape
    if owner is None:
        if captions != images:
            raise InputError(f"{captions} captions for {images} images: give `owner`, the image of each caption.")
        owner = torch.arange(captions, device=scores.device)
    if owner.shape != (captions,) or (captions > 0 and not 0 <= int(owner.min()) <= int(owner.max()) < images):
        raise InputError(f"`owner` must name one of the {images} images for each of the {captions} captions.")
    own = scores.gather(1, owner[:, None])
    return (~(scores < own)).sum(1) - 1  # not `>=`: NaN counts as not worse
