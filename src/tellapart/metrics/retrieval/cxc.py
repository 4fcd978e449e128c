"""Crisscrossed Captions (Parekh et al. 2020): COCO images and captions that match across images too.

LTD's protocol (LTD paper, section 4.3): any CxC positive counts, so the best-ranked one decides recall in both
directions. R-precision uses r = the number of a query's positives.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.metrics.retrieval.recall import CUTOFFS, best_ranks, own_captions, r_precision, recall_at

POSITIVE = 3.0
"""Ratings are 0 to 5; pairs rated 3 or more match, as in the data set's paper."""


@dataclass(frozen=True)
class Rating:
    """How well a caption matches an image."""

    caption: int
    """COCO's id of the caption."""
    image: str
    """COCO's file name of the image, without its suffix."""
    score: float


def read_cxc(path: Path) -> list[Rating]:
    """The ratings of a `sits_*.csv` file: caption (its id after the last colon), image file, score, sampling.

    CxC's other files rate pairs of captions (`sts_*`) or of images (`sis_*`): they are an error.
    """
    try:
        rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read the CxC file {path}: {error}.") from error
    if not rows or rows[0][:2] != ["caption", "image"]:
        raise InputError(f"{path}, line 1: expected the columns caption, image, score; use one of CxC's sits files.")
    ratings = []
    for number, row in enumerate(rows[1:], start=2):
        try:
            ratings.append(Rating(int(row[0].rsplit(":", 1)[-1]), Path(row[1]).stem, float(row[2])))
        except (ValueError, IndexError) as error:
            raise InputError(
                f"{path}, line {number}: expected caption, image, score; use one of CxC's sits files."
            ) from error
    return ratings


def ratings_among(ratings: Sequence[Rating], images: Sequence[str], captions: Sequence[int]) -> list[Rating]:
    """The ratings whose image and caption are both among these (named as for `cxc_positives`)."""
    numbers, ids = {image_number(name) for name in images}, set(captions)
    return [rating for rating in ratings if rating.caption in ids and image_number(rating.image) in numbers]


def cxc_positives(
    ratings: Sequence[Rating],
    images: Sequence[str],
    captions: Sequence[int],
    owner: Tensor,
    threshold: float = POSITIVE,
) -> Tensor:
    """[I, C]: own captions, and every pair rated at least `threshold`. Ratings of other images or captions are ignored.

    `images` are file stems or COCO numbers, `captions` COCO's caption ids.
    """
    positive = own_captions(owner, len(images))
    row = {image_number(name): place for place, name in enumerate(images)}
    column = {caption: place for place, caption in enumerate(captions)}
    chosen = [
        (row[image_number(rating.image)], column[rating.caption])
        for rating in ratings
        if rating.score >= threshold and image_number(rating.image) in row and rating.caption in column
    ]
    if chosen:
        rows, columns = torch.tensor(chosen, device=positive.device).t()
        positive[rows, columns] = True
    return positive


def cxc_recall(scores: Tensor, positive: Tensor) -> dict[str, float]:
    """R@K in both directions in percent, rsum, and R-precision [0, 1]; queries without a positive are ignored."""
    found: dict[str, float] = {}
    precision: dict[str, float] = {}
    for name, matrix, right in (("i2t", scores, positive), ("t2i", scores.t(), positive.t())):
        has_positive = right.any(1)
        ranks = best_ranks(matrix[has_positive], right[has_positive])
        found.update({f"{name}_r{cutoff}": recall_at(ranks, cutoff) for cutoff in CUTOFFS})
        precision[f"{name}_r_precision"] = r_precision(matrix, right)
    return {**found, "rsum": sum(found.values()), **precision}


def image_number(name: str) -> str:
    """COCO's image number from any of its names: COCO_val2014_000000391895, 000000391895 or 391895."""
    return name.rsplit("_", 1)[-1].lstrip("0") or "0"
