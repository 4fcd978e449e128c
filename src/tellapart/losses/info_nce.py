"""Normalised cross-entropy over a batch: InfoNCE, and ConVSE's sum-of-negatives, which is twice as large."""

from __future__ import annotations

from torch import Tensor, nn

from tellapart.losses.negatives import (
    caption_negatives,
    check_reduction,
    check_temperature,
    image_negatives,
    positives,
    reduce,
)

DIRECTIONS = {"added": 1.0, "halved": 0.5}


class InfoNCE(nn.Module):
    """Cross-entropy of a pair among all pairs of its image, plus that among all pairs of its caption.

        l(I, C) = w (-log e^{s(I,C)/tau} / sum_C' e^{s(I,C')/tau}
                     -log e^{s(I,C)/tau} / sum_I' e^{s(I',C)/tau})

    The sums run over the pair itself and its negatives. ConVSE's l_CSN (ConVSE paper, Eqs. 6-8) is
    `directions="added"` (w = 1) with tau 0.1; L_con of latent target decoding (LTD paper, Eq. 1) is
    `directions="halved"` (w = 1/2, each of the 2N queries weighs 1/2N) with tau 0.05.

    Args:
        temperature: tau; a smaller one weighs hard negatives more.
        directions: `added` or `halved`.
        reduction: over pairs.
    """

    def __init__(self, temperature: float = 0.05, directions: str = "halved", reduction: str = "mean") -> None:
        super().__init__()
        if directions not in DIRECTIONS:
            raise ValueError(f"directions must be one of {', '.join(DIRECTIONS)}, not '{directions}'")
        self.temperature = check_temperature(temperature)
        self.directions = directions
        self.reduction = check_reduction(reduction)

    def forward(self, scores: Tensor, owner: Tensor) -> Tensor:
        """scores [I, C], owner [C] -> scalar."""
        logits = scores / self.temperature
        pair = positives(logits, owner)  # [C]
        captions, wrong_caption = caption_negatives(logits, owner)  # [C, C]
        keep_caption = wrong_caption.clone()
        keep_caption.fill_diagonal_(True)
        among_captions = captions.masked_fill(~keep_caption, float("-inf")).logsumexp(1)  # [C]
        images, _ = image_negatives(logits, owner)  # [C, I]: the pair and all its negatives, each image once
        among_images = images.logsumexp(1)  # [C]
        weight = DIRECTIONS[self.directions]
        return reduce(weight * ((among_captions - pair) + (among_images - pair)), self.reduction)
