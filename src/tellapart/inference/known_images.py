"""Images that a matcher has encoded before: an index of photos, say, to compare with at no cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tellapart.core.errors import InputError
from tellapart.images.indexed_file import indexed_file
from tellapart.images.verified_file import VerifiedFile

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
    folders: Sequence[str] = ()
    """The indexed folder of each; without folders and contents, no file is read."""
    contents: Sequence[str] = ()
    """The hash of the bytes of each, so that another matcher reads the same images."""

    def file(self, row: int) -> VerifiedFile | None:
        """The file of an image; None if it is gone or links out of its folder, or if files are not known."""
        if not self.contents:
            return None
        try:
            path = indexed_file(self.names[row], self.folders[row])
        except InputError:  # an address that cannot be opened here
            return None
        return None if path is None else VerifiedFile(path, self.contents[row])


def checked_for(known: KnownImages, judge: Judge | LightMatcher | None) -> KnownImages:
    """The same images; InputError if the judge is not the matcher that encoded them."""
    if not encoded_by(judge, known):
        raise InputError(
            "The images to compare with were encoded by another matcher than the one that judges captions; give the "
            "matcher of that index as `matcher`, or a folder of images as `against`."
        )
    return known


def encoded_by(judge: Judge | LightMatcher | None, known: KnownImages) -> bool:
    """Whether a judge is the matcher that encoded images."""
    return judge is not None and judge.fingerprint == known.matcher
