"""Captions that matchers rank first for an image, right ones and wrong ones (ConVSE paper, Figure 2; LTD paper,
Figure 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tellapart.data.pack import Pack
from tellapart.evaluation.retrieval import SplitScores
from tellapart.report import page

EXAMPLES_DEPTH, COMPARED_DEPTH = 3, 5
"""Captions shown for each image: three in ConVSE's Figure 2, five in LTD's Figure 4."""


@dataclass(frozen=True)
class Ranking:
    """A matcher's name, and its scores of a split."""

    name: str
    found: SplitScores

    def best(self, depth: int) -> Tensor:
        """The captions [I, depth] that rank first for each image; ties keep the order of the pack."""
        order = self.found.scores.argsort(dim=1, descending=True, stable=True)
        return order[:, : min(depth, order.shape[1])]

    def right(self, depth: int) -> Tensor:
        """Which of these describe the image [I, depth]."""
        images = torch.arange(len(self.found.image_rows)).unsqueeze(1)
        return self.found.owner[self.best(depth)] == images


def successes_and_failures(ranking: Ranking, count: int, seed: int) -> tuple[list[int], list[int]]:
    """Random images whose first captions are all right, and images of whose first captions none is.

    An image with fewer captions than are shown succeeds if all of its captions come first.
    """
    right = ranking.right(EXAMPLES_DEPTH)
    own = torch.bincount(ranking.found.owner, minlength=len(right)).clamp(max=right.shape[1])
    hits = right.sum(1)
    random = np.random.default_rng(seed)
    chosen = (random.permutation(group.nonzero().squeeze(1).numpy())[:count] for group in (hits == own, hits == 0))
    successes, failures = (group.tolist() for group in chosen)
    return successes, failures


def examples_section(ranking: Ranking, pack: Pack, count: int = 3, seed: int = 0) -> str:
    """Success and failure cases with their three best captions (ConVSE paper, Figure 2)."""
    parts = []
    for heading, images in zip(("Success cases", "Failure cases"), successes_and_failures(ranking, count, seed)):
        parts.append(f"<h3>{heading}</h3>")
        parts += [_shown([ranking], pack, image, EXAMPLES_DEPTH) for image in images] or ["<p>None.</p>"]
    return "".join(parts)


def most_different(first: Ranking, second: Ranking, count: int) -> list[int]:
    """The images whose precision among the five best captions differs most between two matchers, largest first."""
    precision = [ranking.right(COMPARED_DEPTH).double().mean(1) for ranking in (first, second)]
    order = (precision[1] - precision[0]).abs().argsort(descending=True, stable=True)
    return order[:count].tolist()


def comparison_section(rankings: Sequence[Ranking], pack: Pack, count: int = 3) -> str:
    """Five best captions side by side, for the images on which the first and the last matcher differ most (LTD paper,
    Figure 4)."""
    images = most_different(rankings[0], rankings[-1], count)
    return "".join(_shown(rankings, pack, image, COMPARED_DEPTH) for image in images)


def _shown(rankings: Sequence[Ranking], pack: Pack, image: int, depth: int) -> str:
    """An image, and next to it the best captions of each matcher."""
    row = int(rankings[0].found.image_rows[image])
    parts = [page.figure(pack.image_path(row), "")]
    for ranking in rankings:
        captions = ranking.best(depth)[image].tolist()
        lines = [
            (pack.captions[int(ranking.found.captions[caption])].text, int(ranking.found.owner[caption]) == image)
            for caption in captions
        ]
        title = f"<p><strong>{page.text(ranking.name)}</strong></p>" if len(rankings) > 1 else ""
        parts.append(page.wide(title + page.ranked(lines)))
    return page.row(parts)
