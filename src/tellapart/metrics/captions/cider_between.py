"""CIDErBtw (Wang et al. 2020, "Compare and Reweight", section 3.1): how well a caption would fit similar images.

    CIDErBtw(c) = 1/K sum_k 1/N_k sum_n CIDEr-D(c, g_n^k)

g_1^k … g_{N_k}^k are the references of the k-th of K images that are similar to the caption's own. Lower is more
distinctive. Document frequencies are those of all references, as for CIDEr.
"""

from collections.abc import Sequence

import numpy as np

from tellapart.core.errors import InputError
from tellapart.metrics.captions.cider import cider_d
from tellapart.metrics.captions.document_frequency import DocumentFrequency
from tellapart.metrics.captions.values import Score


def cider_between(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    neighbours: Sequence[Sequence[int]],
    frequencies: DocumentFrequency | None = None,
) -> Score:
    """CIDErBtw of tokenised captions; `neighbours` are rows of `references`, one list of similar images per caption.

    >>> references = [["a dog runs", "the dog"], ["a dog sits"], ["two cats"]]
    >>> cider_between(["a dog runs", "a dog", "cats"], references, [[1], [0], [0, 1]]).each.round(3).tolist()
    [0.835, 1.303, 0.0]
    """
    check_neighbours(neighbours, len(candidates), len(references))
    table = frequencies or DocumentFrequency.from_references(references)
    sizes = [len(rows) for rows in neighbours]
    repeated = [caption for caption, size in zip(candidates, sizes) for _ in range(size)]
    pairs = cider_d(repeated, [references[row] for rows in neighbours for row in rows], table).each  # [sum of K]
    each = np.add.reduceat(pairs, np.cumsum([0, *sizes[:-1]])) / sizes
    return Score(float(each.mean()), each)


def check_neighbours(neighbours: Sequence[Sequence[int]], captions: int, images: int) -> None:
    """Raise an error unless every caption has similar images, and none is its own."""
    if len(neighbours) != captions:
        raise InputError(f"{captions} captions but similar images for {len(neighbours)}: give a list for each caption.")
    for caption, rows in enumerate(neighbours):
        if len(rows) == 0:
            raise InputError(f"Caption {caption} has no similar image; every caption needs at least one.")
        wrong = [row for row in rows if not 0 <= row < images or row == caption]
        if wrong:
            raise InputError(
                f"Caption {caption}: {wrong[0]} is not another image; similar images are rows of the references, "
                f"0 … {images - 1}, without the caption's own."
            )
