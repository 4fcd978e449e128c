"""Matchers as judges of captions: which of an image and its look-alikes does each caption fit best?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from tellapart.core.protocols import Matcher
from tellapart.core.types import Encoded, Images, Texts
from tellapart.evaluation.chunks import CHUNK, chunks
from tellapart.metrics.retrieval.look_alikes import picked

BLOCK = 64
"""Captions scored at once, each with its own image and the look-alikes of all of them."""


def picked_first(scores: Tensor) -> Tensor:
    """[C] bool: the first column of scores [C, 1 + k] is higher than all others.

    >>> picked_first(torch.tensor([[2.0, 1.0, 0.0], [1.0, 1.0, 0.0]])).tolist()
    [True, False]
    """
    return picked(scores[:, 0], scores[:, 1:])


def joint_picks(judges: Sequence[Tensor]) -> Tensor:
    """[C] bool: judges pick together, by the mean of their ln p(image | caption) [C, 1 + k] among the same images.

    A judge that is unsure counts less than one that is sure.

    >>> sure, unsure = torch.tensor([[0.9, 0.1]]).log(), torch.tensor([[0.4, 0.6]]).log()
    >>> joint_picks([sure, unsure]).tolist(), joint_picks([unsure]).tolist()
    ([True], [False])
    """
    return picked_first(torch.stack(list(judges)).mean(0))


@torch.no_grad()
def judge_scores(
    matcher: Matcher,
    images_of: Callable[[np.ndarray], Images],
    texts_of: Callable[[Sequence[str]], Texts],
    captions: Sequence[str],
    similar: np.ndarray,
    batch: int = CHUNK,
) -> Tensor:
    """Scores [C, 1 + k] of caption i with image i and with its look-alikes `similar` [C, k].

    images_of: features of images by index. texts_of: captions as the matcher's tokens.
    batch: images encoded at once.
    """
    used = np.unique(np.concatenate([np.arange(len(captions)), similar.ravel()]))
    encoded = _together([matcher.encode_image(images_of(rows)) for rows in chunks(used, batch)])
    place = torch.from_numpy(np.searchsorted(used, similar))  # [C, k] rows of `encoded`
    own = torch.from_numpy(np.searchsorted(used, np.arange(len(captions))))
    parts = []
    for rows in chunks(np.arange(len(captions)), min(BLOCK, batch)):
        texts = matcher.encode_text(texts_of([captions[row] for row in rows]))
        among = torch.cat([own[rows].unsqueeze(1), place[rows]], 1)  # [n, 1 + k]
        shown, column = torch.unique(among, return_inverse=True)
        scores = matcher.score(encoded.select(shown.to(encoded.vectors.device)), texts).float().cpu().t()  # [n, shown]
        parts.append(scores.gather(1, column))
    return torch.cat(parts)


def _together(parts: Sequence[Encoded]) -> Encoded:
    """Several chunks of encoded images as one; local vectors are padded to the most rows."""
    if parts[0].mask is None:
        return Encoded(torch.cat([part.vectors for part in parts]))
    longest = max(part.vectors.shape[1] for part in parts)

    def padded(tensor: Tensor) -> Tensor:
        filled = tensor.new_zeros(len(tensor), longest, *tensor.shape[2:])
        filled[:, : tensor.shape[1]] = tensor
        return filled

    masks = [padded(part.mask) for part in parts if part.mask is not None]
    counted = [padded(part.counted) for part in parts if part.counted is not None]
    vectors = torch.cat([padded(part.vectors) for part in parts])
    return Encoded(vectors, torch.cat(masks), torch.cat(counted) if counted else None)
