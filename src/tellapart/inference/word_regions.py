"""Where a matcher sees the nouns of a caption: it points better than the captioner's attention.

As in POS-SCAN (grounded captioning), a matcher's similarity of a word and a region guides attention; here it does so
when attention is shown. The vector of an image is linear in its cells v_r (see `DualEncoderModel`), so that

    s(w, r) = w · (W_mean + W_attended) v_r

is what cell r adds to the similarity of the image and word w. The map is smoothed by (1, 2, 1) / 4 in both directions,
doubled in both, and multiplied by 1 + the captioner's attention over its maximum.
"""

from __future__ import annotations

import math

import numpy as np

from tellapart.inference.caption_attention import CaptionAttention


def pointed(attention: CaptionAttention, similarity: np.ndarray) -> CaptionAttention:
    """Attention over a grid twice as fine; that of nouns follows the similarity [T, R] of words and cells."""
    side = math.isqrt(len(attention.boxes))
    cells = attention.weights.reshape(-1, side, side)
    weights = cells.repeat(2, 1).repeat(2, 2) / 4  # [T, 2 H, 2 W]
    seen = doubled(smoothed(similarity.reshape(-1, side, side)))
    own = doubled(smoothed(cells))
    for row, noun in enumerate(attention.nouns):
        if noun:
            share = (seen[row] - seen[row].min()) * (1 + own[row] / max(float(own[row].max()), 1e-9))
            share = share**2  # a narrower peak at the same place
            weights[row] = share / share.sum() if share.sum() > 0 else weights[row]
    return CaptionAttention(
        attention.words, weights.reshape(len(attention.words), -1), _quarters(attention.boxes, side), attention.nouns
    )


def smoothed(maps: np.ndarray) -> np.ndarray:
    """Maps [T, H, W] with each value replaced by the mean of its neighbours, weighted (1, 2, 1) / 4 in both directions.

    >>> smoothed(np.array([[[0.0, 4.0, 0.0]]])).tolist()
    [[[1.0, 2.0, 1.0]]]
    """
    for axis in (1, 2):
        wide = np.pad(maps, [(1, 1) if place == axis else (0, 0) for place in range(3)], mode="edge")
        before, here, after = (np.take(wide, np.arange(maps.shape[axis]) + step, axis) for step in (0, 1, 2))
        maps = (before + 2 * here + after) / 4
    return maps


def doubled(maps: np.ndarray) -> np.ndarray:
    """Maps [T, H, W] as [T, 2 H, 2 W], interpolated between the centres of cells.

    >>> doubled(np.array([[[0.0, 4.0]]])).tolist()
    [[[0.0, 1.0, 3.0, 4.0], [0.0, 1.0, 3.0, 4.0]]]
    """
    for axis in (1, 2):
        count = maps.shape[axis]
        place = ((np.arange(2 * count) + 0.5) / 2 - 0.5).clip(0, count - 1)
        low = np.floor(place).astype(int)
        shape = [-1 if part == axis else 1 for part in range(3)]
        share = (place - low).reshape(shape)
        maps = np.take(maps, low, axis) * (1 - share) + np.take(maps, np.minimum(low + 1, count - 1), axis) * share
    return maps


def _quarters(boxes: np.ndarray, side: int) -> np.ndarray:
    """Boxes [H * W, 4] of a grid, each cut into four [4 * H * W, 4], row by row."""
    fine = boxes.reshape(side, side, 4).repeat(2, 0).repeat(2, 1).copy()  # [2 H, 2 W, 4]
    middle_x, middle_y = (fine[..., 0] + fine[..., 2]) / 2, (fine[..., 1] + fine[..., 3]) / 2
    fine[:, ::2, 2], fine[:, 1::2, 0] = middle_x[:, ::2], middle_x[:, 1::2]
    fine[::2, :, 3], fine[1::2, :, 1] = middle_y[::2], middle_y[1::2]
    return np.asarray(fine.reshape(-1, 4))
