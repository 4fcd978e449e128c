"""From an attention map to the box of what is attended to, and whether the map points inside a box.

A cell is too small to overlap with an object, so the box is that of the cells around the strongest one: the connected
part of the map with at least `share` of its weight (Zhou et al. 2016, section 3.2, with another share). Pointing
(Zhang et al. 2018) asks less: that the middle of the strongest cell lies inside the object's box.
"""

from __future__ import annotations

import numpy as np

SHARE = 0.5
"""Of the strongest cell's weight: cells with less do not belong to the box."""


def map_boxes(maps: np.ndarray, share: float = SHARE) -> np.ndarray:
    """The box [N, 4] around the strongest cell of each map [N, s, s], in fractions of the map.

    >>> map_boxes(np.array([[[9.0, 5, 0, 0], [0, 6, 0, 0], [0, 0, 0, 0], [0, 0, 0, 8]]])).tolist()
    [[0.0, 0.0, 0.5, 0.5]]
    """
    count, side = maps.shape[:2]
    strongest = maps.reshape(count, -1).max(1)[:, None, None]
    allowed = maps >= share * strongest
    reached = _at(maps, maps.reshape(count, -1).argmax(1))
    while True:
        grown = _neighbours(reached) & allowed
        if (grown == reached).all():
            break
        reached = grown
    boxes = np.zeros((count, 4))
    for place, axis in ((0, 1), (1, 2)):
        inside = np.asarray(reached.any(axis))  # [N, s] columns, then rows
        boxes[:, place] = inside.argmax(1) / side
        boxes[:, place + 2] = (side - inside[:, ::-1].argmax(1)) / side
    return boxes


def points(maps: np.ndarray) -> np.ndarray:
    """The middle (x, y) [N, 2] of the strongest cell of each map [N, s, s], in fractions of the map."""
    row, column = np.divmod(maps.reshape(len(maps), -1).argmax(1), maps.shape[2])
    found: np.ndarray = (np.stack([column, row], -1) + 0.5) / maps.shape[1]
    return found


def inside_any(point: np.ndarray, boxes: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """[N] bool: the point [N, 2] lies in one of the boxes [N, K, 4] that the mask [N, K] keeps."""
    at = point[:, None]
    found: np.ndarray = ((at >= boxes[..., :2]) & (at <= boxes[..., 2:])).all(-1) & mask
    return np.asarray(found.any(1))


def _at(maps: np.ndarray, cell: np.ndarray) -> np.ndarray:
    marked = np.zeros((len(maps), maps[0].size if len(maps) else 1), np.bool_)
    marked[np.arange(len(maps)), cell] = True
    return marked.reshape(maps.shape)


def _neighbours(cells: np.ndarray) -> np.ndarray:
    """The cells, and those that share a side with one."""
    grown = cells.copy()
    grown[:, 1:] |= cells[:, :-1]
    grown[:, :-1] |= cells[:, 1:]
    grown[:, :, 1:] |= cells[:, :, :-1]
    grown[:, :, :-1] |= cells[:, :, 1:]
    return grown
