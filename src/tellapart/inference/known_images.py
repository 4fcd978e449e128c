"""Images that a matcher has encoded before: an index of photos, say, to compare with at no cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tellapart.core.errors import InputError
from tellapart.runs.fingerprint import fingerprint

if TYPE_CHECKING:
    from tellapart.inference.judge import Judge
    from tellapart.inference.light.matching import LightMatcher


@dataclass(frozen=True, eq=False)
class KnownImages:
    """Vectors of images by a matcher, with their names."""

    names: Sequence[str]
    vectors: np.ndarray  # [N, E] float32 of length one
    matcher: str
    """Fingerprint of the matcher."""


def checked_for(known: KnownImages, judge: Judge | LightMatcher | None) -> KnownImages:
    """The same images; InputError if the judge is not the matcher that encoded them."""
    if judge is None or fingerprint(judge.run.folder) != known.matcher:
        raise InputError(
            "The images to compare with were encoded by another matcher than the one that judges captions; give the "
            "matcher of that index as `matcher`, or a folder of images as `against`."
        )
    return known
