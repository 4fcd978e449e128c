"""Finding again what belongs together: recall at K both ways, rsum, median rank, R-precision, 1K folds.

Everything starts from a score matrix [I, C] (images x sentences, higher fits better) and `owner` [C]. A
rank counts the wrong answers that are not strictly worse than the best right one, so ties (and NaN) count
against the model: one that scores everything alike finds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tellapart.core.errors import InputError

CUTOFFS = (1, 5, 10)
FOLD_SIZE, FOLD_IMAGES = 1000, 5000
"""Images of a fold in COCO's 1K protocol, and how many a split must have to be measured so."""
CHUNK = 64 * 1024 * 1024
"""Elements of a score matrix looked at in one go."""


@dataclass(frozen=True)
class Ranks:
    """Where each query's best right answer stands; 0 is first."""

    image_to_text: Tensor  # [I]
    text_to_image: Tensor  # [C]
    owner: Tensor  # [C]


def best_ranks(scores: Tensor, positive: Tensor) -> Tensor:
    """For each query, a row of `scores` [Q, N], the rank [Q] of its best answer among those marked in
    `positive` [Q, N].

    >>> best_ranks(torch.tensor([[0.9, 0.3, 0.5]]), torch.tensor([[False, True, True]]))
    tensor([1])
    """
    ranks = []
    for rows, right in zip(_row_chunks(scores), _row_chunks(positive)):
        best = rows.masked_fill(~right, float("-inf")).amax(1, keepdim=True)  # [q, 1]
        ranks.append(((~(rows < best)) & ~right).sum(1))
    return torch.cat(ranks)


def retrieval_ranks(scores: Tensor, owner: Tensor) -> Ranks:
    """Ranks of both directions; an image none of whose sentences is among the columns is refused."""
    _check(scores, owner)
    images = torch.arange(scores.shape[0], device=scores.device)
    own = owner.unsqueeze(0) == images.unsqueeze(1)  # [I, C]
    return Ranks(best_ranks(scores, own), best_ranks(scores.t(), own.t()), owner)


def recall_at(ranks: Tensor, cutoff: int) -> float:
    """Per cent of queries whose best right answer is among the first `cutoff`."""
    return 100.0 * (ranks < cutoff).double().mean().item()


def recall(scores: Tensor, owner: Tensor) -> dict[str, float]:
    """R@1, 5, 10 of both directions in per cent, their sum, and median ranks counted from 1.

    >>> found = recall(torch.tensor([[0.9, 0.1], [0.2, 0.8]]), torch.tensor([0, 1]))
    >>> found["rsum"], found["i2t_median"]
    (600.0, 1.0)
    """
    return summarise(retrieval_ranks(scores, owner))


def summarise(ranks: Ranks) -> dict[str, float]:
    """The figures of `recall` from ranks."""
    directions = {"i2t": ranks.image_to_text, "t2i": ranks.text_to_image}
    found = {
        f"{name}_r{cutoff}": recall_at(direction, cutoff)
        for name, direction in directions.items()
        for cutoff in CUTOFFS
    }
    rsum = sum(found.values())
    # Of an even number of queries the mean of the middle two, rounded down, as VSE++ and its successors count.
    middles = {name: direction.double().quantile(0.5).floor().item() for name, direction in directions.items()}
    medians = {f"{name}_median": middle + 1 for name, middle in middles.items()}
    return {**found, "rsum": rsum, **medians}


def thousand_folds(scores: Tensor, owner: Tensor) -> dict[str, float]:
    """COCO's 1K protocol: `recall` in folds of 1,000 images and its mean, as `1k_` and the figure's name; nothing of
    fewer than 5,000 images."""
    if scores.shape[0] < FOLD_IMAGES:
        return {}
    whole = scores.shape[0] // FOLD_SIZE * FOLD_SIZE
    found = fold_recall(scores[:whole], owner, whole // FOLD_SIZE)  # of no later image's sentences
    return {f"1k_{name}": value for name, value in found.items()}


def fold_recall(scores: Tensor, owner: Tensor, folds: int = 5) -> dict[str, float]:
    """The images cut into `folds` runs of equal size, `recall` in each, and the mean.

    Images past the last whole fold are left out, as 5,000 images leave none.
    """
    size = scores.shape[0] // folds
    if size == 0:
        raise InputError(f"{scores.shape[0]} images cannot be cut into {folds} folds; give at least one to each.")
    results = []
    for fold in range(folds):
        columns = (owner // size == fold).nonzero().squeeze(1)
        rows = scores[fold * size : (fold + 1) * size]
        results.append(recall(rows[:, columns], owner[columns] - fold * size))
    return {name: sum(result[name] for result in results) / folds for name in results[0]}


def r_precision(scores: Tensor, positive: Tensor) -> float:
    """Mean over queries of the precision among the first r answers, r being the query's number of right ones
    [0, 1].

    Queries without a right answer are left out. Ties keep the order of the columns.
    """
    total, queries = 0.0, 0
    for rows, right in zip(_row_chunks(scores), _row_chunks(positive)):
        counts = right.sum(1)  # [q]
        deepest = int(counts.max().item()) if len(counts) else 0
        if deepest == 0:
            continue
        order = rows.argsort(dim=1, descending=True, stable=True)[:, :deepest]  # [q, r]
        steps = torch.arange(deepest, device=rows.device)
        hits = (right.gather(1, order) & (steps < counts.unsqueeze(1))).sum(1)
        asked = counts > 0
        total += (hits[asked].double() / counts[asked]).sum().item()
        queries += int(asked.sum().item())
    return total / max(queries, 1)


def own_captions(owner: Tensor, images: int) -> Tensor:
    """[I, C]: which sentences describe which image."""
    return owner.unsqueeze(0) == torch.arange(images, device=owner.device).unsqueeze(1)


def _check(scores: Tensor, owner: Tensor) -> None:
    if scores.dim() != 2 or scores.shape[1] != len(owner):
        raise InputError(f"The score matrix is {tuple(scores.shape)}, but there are {len(owner)} sentences.")
    described = torch.zeros(scores.shape[0], dtype=torch.bool, device=scores.device)
    described[owner] = True
    if not bool(described.all()) or len(owner) == 0:
        missing = int((~described).sum().item())
        raise InputError(f"{missing} of {scores.shape[0]} images have no sentence in this split; leave them out.")


def _row_chunks(matrix: Tensor) -> tuple[Tensor, ...]:
    return matrix.split(max(1, CHUNK // max(matrix.shape[1], 1)))
