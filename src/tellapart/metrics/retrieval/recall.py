"""Retrieval metrics: recall at K in both directions, rsum, median rank, R-precision, 1K folds.

All start from a score matrix [I, C] (images x captions, higher is better) and `owner` [C]. A rank counts the wrong
answers that are not strictly worse than the best correct one. So ties and NaN count against the model: equal scores
everywhere give recall 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from tellapart.core.errors import InputError

CUTOFFS = (1, 5, 10)
FOLD_SIZE, FOLD_IMAGES = 1000, 5000
"""Images per fold in COCO's 1K protocol, and the fewest images of a split to use it."""
CHUNK = 64 * 1024 * 1024
"""Elements of a score matrix processed at once."""


@dataclass(frozen=True)
class Ranks:
    """The rank of each query's best correct answer; 0 is first."""

    image_to_text: Tensor  # [I]
    text_to_image: Tensor  # [C]
    owner: Tensor  # [C]


def best_ranks(scores: Tensor, positive: Tensor) -> Tensor:
    """The rank [Q] of each query's best correct answer; `scores` [Q, N], `positive` [Q, N] marks correct answers.

    >>> best_ranks(torch.tensor([[0.9, 0.3, 0.5]]), torch.tensor([[False, True, True]]))
    tensor([1])
    """
    ranks = []
    for rows, right in zip(_row_chunks(scores), _row_chunks(positive)):
        best = rows.masked_fill(~right, float("-inf")).amax(1, keepdim=True)  # [q, 1]
        ranks.append(((~(rows < best)) & ~right).sum(1))
    return torch.cat(ranks)


def retrieval_ranks(scores: Tensor, owner: Tensor) -> Ranks:
    """Ranks of both directions; an error if an image has no caption."""
    _check(scores, owner)
    images = torch.arange(scores.shape[0], device=scores.device)
    own = owner.unsqueeze(0) == images.unsqueeze(1)  # [I, C]
    return Ranks(best_ranks(scores, own), best_ranks(scores.t(), own.t()), owner)


def recall_at(ranks: Tensor, cutoff: int) -> float:
    """Percentage of queries with a correct answer among the first `cutoff`."""
    return 100.0 * (ranks < cutoff).double().mean().item()


def recall(scores: Tensor, owner: Tensor) -> dict[str, float]:
    """R@1, 5, 10 of both directions in percent, their sum, and median ranks counted from 1.

    >>> found = recall(torch.tensor([[0.9, 0.1], [0.2, 0.8]]), torch.tensor([0, 1]))
    >>> found["rsum"], found["i2t_median"]
    (600.0, 1.0)
    """
    return summarise(retrieval_ranks(scores, owner))


def summarise(ranks: Ranks) -> dict[str, float]:
    """The metrics of `recall`, from ranks."""
    directions = {"i2t": ranks.image_to_text, "t2i": ranks.text_to_image}
    found = {
        f"{name}_r{cutoff}": recall_at(direction, cutoff)
        for name, direction in directions.items()
        for cutoff in CUTOFFS
    }
    rsum = sum(found.values())
    # For an even number of queries, the mean of the middle two, rounded down, as in VSE++ and its successors.
    middles = {name: direction.double().quantile(0.5).floor().item() for name, direction in directions.items()}
    medians = {f"{name}_median": middle + 1 for name, middle in middles.items()}
    return {**found, "rsum": rsum, **medians}


def thousand_folds(scores: Tensor, owner: Tensor) -> dict[str, float]:
    """COCO's 1K protocol: the mean of `recall` over folds of 1,000 images, with the prefix `1k_`; empty for fewer than
    5,000 images."""
    if scores.shape[0] < FOLD_IMAGES:
        return {}
    whole = scores.shape[0] // FOLD_SIZE * FOLD_SIZE
    found = fold_recall(scores[:whole], owner, whole // FOLD_SIZE)  # without captions of later images
    return {f"1k_{name}": value for name, value in found.items()}


def thousand_fold_ranks(scores: Tensor, owner: Tensor) -> Ranks | None:
    """The ranks that `thousand_folds` averages; None for fewer than 5,000 images."""
    if scores.shape[0] < FOLD_IMAGES:
        return None
    whole = scores.shape[0] // FOLD_SIZE * FOLD_SIZE
    return fold_ranks(scores[:whole], owner, whole // FOLD_SIZE)


def fold_recall(scores: Tensor, owner: Tensor, folds: int = 5) -> dict[str, float]:
    """The mean of `recall` over `folds` consecutive folds of equal size. Later images are ignored."""
    size = scores.shape[0] // folds
    if size == 0:
        raise InputError(f"{scores.shape[0]} images are too few for {folds} folds.")
    results = []
    for fold in range(folds):
        columns = (owner // size == fold).nonzero().squeeze(1)
        rows = scores[fold * size : (fold + 1) * size]
        results.append(recall(rows[:, columns], owner[columns] - fold * size))
    return {name: sum(result[name] for result in results) / folds for name in results[0]}


def fold_ranks(scores: Tensor, owner: Tensor, folds: int) -> Ranks:
    """The ranks within `folds` consecutive folds of equal size, one after the other; `owner` counts over all folds."""
    size = scores.shape[0] // folds
    parts = []
    for fold in range(folds):
        columns = (owner // size == fold).nonzero().squeeze(1)
        found = retrieval_ranks(scores[fold * size : (fold + 1) * size][:, columns], owner[columns] - fold * size)
        parts.append(Ranks(found.image_to_text, found.text_to_image, found.owner + fold * size))
    whole = [torch.cat([getattr(part, name) for part in parts]) for name in ("image_to_text", "text_to_image", "owner")]
    return Ranks(*whole)


def r_precision(scores: Tensor, positive: Tensor) -> float:
    """Mean over queries of the precision among the first r answers, r = the query's number of correct ones: [0, 1].

    Queries without a correct answer are ignored. Ties keep the order of the columns. NaN counts against the model: such
    a correct answer ranks last, such a wrong one first.
    """
    total, queries = 0.0, 0
    for hits, counts in first_answers(scores, positive):
        total += (hits.sum(1).double() / counts).sum().item()
        queries += len(counts)
    return total / max(queries, 1)


def first_answers(scores: Tensor, positive: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Which of each query's first r answers are correct [q, r], and its r [q], a few queries at a time.

    r is the query's number of correct answers; later columns are False. Queries without one are left out. Ties and NaN
    as for `r_precision`.
    """
    for rows, right in zip(_row_chunks(scores), _row_chunks(positive)):
        counts = right.sum(1)  # [q]
        rows, right, counts = rows[counts > 0], right[counts > 0], counts[counts > 0]
        if not len(counts):
            continue
        deepest = int(counts.max().item())
        known = torch.where(rows.isnan(), torch.where(right, -torch.inf, torch.inf).to(rows.dtype), rows)
        order = known.argsort(dim=1, descending=True, stable=True)[:, :deepest]  # [q, r]
        steps = torch.arange(deepest, device=rows.device)
        yield right.gather(1, order) & (steps < counts.unsqueeze(1)), counts


def own_captions(owner: Tensor, images: int) -> Tensor:
    """[I, C] bool: which captions describe which image."""
    return owner.unsqueeze(0) == torch.arange(images, device=owner.device).unsqueeze(1)


def _check(scores: Tensor, owner: Tensor) -> None:
    if scores.dim() != 2 or scores.shape[1] != len(owner):
        raise InputError(f"scores has the shape {tuple(scores.shape)}, but there are {len(owner)} captions.")
    described = torch.zeros(scores.shape[0], dtype=torch.bool, device=scores.device)
    described[owner] = True
    if not bool(described.all()) or len(owner) == 0:
        missing = int((~described).sum().item())
        raise InputError(f"{missing} of {scores.shape[0]} images have no caption in this split; remove them.")


def _row_chunks(matrix: Tensor) -> tuple[Tensor, ...]:
    result: tuple[Tensor, ...] = torch.split(matrix, max(1, CHUNK // max(matrix.shape[1], 1)))
    return result
