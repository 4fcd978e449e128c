"""Copies and bursts: photos that show the same, of which results show the best and count the others.

A copy has the same bytes, or nearly the same vector (the same photo resized or saved again). The photos of a burst were
taken within seconds of each other and have similar vectors.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SAME = 0.97
"""Cosine of two vectors of one photo, saved again or made smaller, above the size that the matcher sees. Of 4,400
different photos of COCO, two have a neighbour so near."""
SIMILAR = 0.85
"""Cosine of two photos of a burst."""
BURST = datetime.timedelta(seconds=10)


@dataclass(frozen=True)
class Shot:
    """What tells whether two photos show the same."""

    content: str
    taken: datetime.datetime | None
    vector: np.ndarray  # [E] of length one


def collapsed(shots: Sequence[Shot], most: int, same: float = SAME) -> list[list[int]]:
    """Groups of places, best first: the first of each group is shown, the others are its copies or its burst.

    Stops after `most` groups; photos after the last shown one are not grouped. same: cosine of copies; vectors of a
    matcher that has learned little are all alike, so that it must be above 1 there.
    """
    groups: list[list[int]] = []
    kept = np.zeros((0, len(shots[0].vector) if shots else 0), np.float32)
    for place, shot in enumerate(shots):
        group = _same(shot, shots, groups, kept @ shot.vector, same)
        if group is not None:
            group.append(place)
        elif len(groups) < most:
            groups.append([place])
            kept = np.concatenate([kept, shot.vector[None].astype(np.float32)])
        else:
            break
    return groups


def _same(
    shot: Shot, shots: Sequence[Shot], groups: list[list[int]], cosines: np.ndarray, same: float
) -> list[int] | None:
    """The group that a photo belongs to; None for a new one."""
    for group, cosine in zip(groups, cosines.tolist()):
        first = shots[group[0]]
        if shot.content == first.content or cosine >= same:
            return group
        near = shot.taken and first.taken and abs(shot.taken - first.taken) <= BURST
        if near and cosine >= SIMILAR:
            return group
    return None
