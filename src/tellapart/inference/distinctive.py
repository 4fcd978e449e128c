"""The caption that identifies its image among similar images.

Beam search proposes likely captions c of an image I. The captioner scores how well each identifies I among its
neighbours (`telling_apart` does it with a matcher):

    ln p(I | c) = ln [p(c|I) / sum over J in {I} and neighbours of p(c|J)]

The caption with the highest (1 - weight) ln p(c|I) + weight ln p(I|c) is chosen. No paper has this; it is Bayes' rule
with a uniform prior over the images.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.types import Images
from tellapart.models.decoding import Constraints, Decoded, beams, log_prob, with_start
from tellapart.models.decoding.sampling import UNCONSTRAINED

NO_OTHERS = "A distinctive caption needs at least one other image to compare with; give more images."


@dataclass(frozen=True)
class DistinctiveCaptions:
    """The chosen captions with both log-probabilities, and those of all proposed captions."""

    decoded: Decoded  # [I] rows
    log_probability: Tensor  # [I] ln p(c|I) of the chosen
    log_posterior: Tensor  # [I] ln p(I|c) of the chosen
    proposed: Decoded  # [I * width] rows, image by image, likeliest first
    proposed_log_posterior: Tensor  # [I, width]
    chosen: Tensor  # [I] which of the proposed
    confused: Tensor  # [I, M] bool: neighbours for which the chosen caption is at least as likely


@torch.no_grad()
def distinctive_captions(
    captioner: Captioner,
    images: Images,
    among: Images,
    neighbours: Tensor,
    weight: float = 0.5,
    width: int = 10,
    max_words: int = 20,
    constraints: Constraints = UNCONSTRAINED,
) -> DistinctiveCaptions:
    """One caption per image that is likely and identifies its image among `among.select(neighbours[i])`.

    neighbours: [I, M] rows of `among`; the image itself must not be among them (`nearest` leaves it out).
    weight: 0 chooses the likeliest caption, 1 the most distinctive.
    """
    if not 0 <= weight <= 1:
        raise InputError(f"`weight` must be between 0 (likeliest) and 1 (most distinctive), not {weight}.")
    if neighbours.shape[1] == 0:
        raise InputError(NO_OTHERS)
    proposed = beams(captioner, images, width, max_words=max_words, constraints=constraints)
    likely = proposed.log_probability.view(len(images), width)
    tokens = with_start(proposed.tokens)  # [I * width, T]
    others = _captioner_scores(captioner, among, neighbours, tokens, width)  # [I, width, M]
    posterior = functional.log_softmax(torch.cat([likely.unsqueeze(2), others], 2), 2)[:, :, 0]  # [I, width] ln p(I|c)
    # An empty place of the beam is never chosen: 0 times minus infinity would be NaN.
    value = ((1 - weight) * likely + weight * posterior).masked_fill(torch.isinf(likely), -torch.inf)
    chosen = value.argmax(1)
    row = torch.arange(len(images), device=chosen.device)
    return DistinctiveCaptions(
        proposed.select(row * width + chosen),
        likely[row, chosen],
        posterior[row, chosen],
        proposed,
        posterior,
        chosen=chosen,
        confused=others[row, chosen] >= likely[row, chosen].unsqueeze(1),
    )


def _captioner_scores(captioner: Captioner, among: Images, neighbours: Tensor, tokens: Tensor, width: int) -> Tensor:
    """ln p(c|J) [I, width, M] of each image's captions given each of its neighbours, one neighbour at a time."""
    own = torch.arange(len(neighbours), device=tokens.device).repeat_interleave(width)  # whose caption
    columns = []
    for place in range(neighbours.shape[1]):
        images = among.select(neighbours[:, place])
        columns.append(log_prob(captioner, images, tokens, own).view(-1, width))
    return torch.stack(columns, 2)
