"""What choosing captions needs of a matcher: its vectors and scores as arrays, whatever computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from tellapart.inference.word_evidence import WordEvidence

COMPARED = 40
"""Images that p(I|c) is a share among, at least (see `telling_apart`)."""


class Encodings(Protocol):
    """Images as a judge encodes them."""

    def __len__(self) -> int: ...

    def select(self, index: Any) -> Any:
        """Some of them, in the given order."""
        ...


@dataclass(frozen=True)
class Vectors:
    """Encodings that are one vector each."""

    vectors: np.ndarray  # [N, E]

    def __len__(self) -> int:
        return len(self.vectors)

    def select(self, index: np.ndarray) -> Vectors:
        """Some of them, in the given order."""
        return Vectors(self.vectors[index])


@dataclass(frozen=True)
class Surroundings:
    """Images and their neighbours, as the judge encodes them."""

    own: Encodings  # [I]
    among: Encodings  # [A]
    neighbours: np.ndarray  # [I, M] rows of `among`
    further: np.ndarray | None = None  # [I, L] rows of `among`
    """The next most similar images: a caption that tells its image apart from these, too, is surer to tell it apart."""

    @property
    def everyone(self) -> np.ndarray:
        """Neighbours and further images [I, M + L]."""
        return self.neighbours if self.further is None else np.concatenate([self.neighbours, self.further], 1)

    def select(self, rows: np.ndarray) -> Surroundings:
        """Those of some images."""
        further = None if self.further is None else self.further[rows]
        return Surroundings(self.own.select(rows), self.among, self.neighbours[rows], further)


def surroundings(own: Encodings, among: Encodings, found: np.ndarray, neighbours: int) -> Surroundings:
    """Images with the rows of `among` most similar to each [I, L]: the first are its neighbours, the others further."""
    return Surroundings(own, among, found[:, :neighbours], found[:, neighbours:])


@dataclass(frozen=True)
class Judged:
    """Images as one judge encodes them."""

    judge: Judging
    images: Encodings


class OfRun(Protocol):
    """Anything that was opened from a run folder."""

    @property
    def run(self) -> Any:
        """The run."""
        ...


Opened = TypeVar("Opened", bound=OfRun)


def second_of(judge: Opened, other: Opened | None) -> Opened | None:
    """The second judge beside a judge: `other`, the bundled matcher where the captioner is the bundled one, unless both
    are the same run."""
    return None if other is None or other.run.folder == judge.run.folder else other


class Judging(Protocol):
    """A matcher that judges captions."""

    @property
    def evidence(self) -> WordEvidence | None:
        """What the matcher sees of words; None for a matcher that it was not fitted for."""
        ...

    def caption_vectors(self, captions: Sequence[str]) -> np.ndarray:
        """Vectors of captions [C, E]."""
        ...

    def image_vectors(self, images: Encodings) -> np.ndarray:
        """The vectors of encoded images [N, E]."""
        ...

    def caption_scores(self, captions: Sequence[str], around: Surroundings) -> tuple[np.ndarray, np.ndarray]:
        """Scores over temperature of captions with the images [I, C], and with those around them [A, C]."""
        ...
