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
    of_content: dict[str, int] = {}
    kept = np.zeros((min(most, len(shots)), len(shots[0].vector) if shots else 0), np.float32)
    for place, shot in enumerate(shots):
        group = _same(shot, shots, groups, kept[: len(groups)] @ shot.vector, same)
        group = min((one for one in (group, of_content.get(shot.content)) if one is not None), default=None)
        if group is not None:
            groups[group].append(place)
        elif len(groups) < most:
            of_content[shot.content] = len(groups)
            kept[len(groups)] = shot.vector
            groups.append([place])
        else:
            break
    return groups


def _same(shot: Shot, shots: Sequence[Shot], groups: list[list[int]], cosines: np.ndarray, same: float) -> int | None:
    """The first group that shows the same in other bytes; None for a new one."""
    for number in np.flatnonzero(cosines >= min(same, SIMILAR)).tolist():
        first = shots[groups[number][0]]
        near = shot.taken and first.taken and abs(shot.taken - first.taken) <= BURST
        if near or cosines[number] >= same:
            return int(number)
    return None
