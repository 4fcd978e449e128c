"""Vectors of photos by a matcher that did not index them: their files are read, and what they gave is remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from tellapart.core.lru_cache import LRUCache
from tellapart.core.progress import Progress
from tellapart.images.sources import ImageInput
from tellapart.images.verified_file import VerifiedFile

Encode = Callable[[Sequence[ImageInput]], Iterator[tuple[list[int], np.ndarray, int]]]
"""Reads images: positions [I] in the list and vectors [I, E], batch by batch, each with how many could not be read."""
REMEMBERED = 4096
"""Vectors that are kept: 16 MB of width 1024."""


class RememberedVectors:
    """A matcher's vectors of photos, by the hash of their bytes; the least recently used are forgotten first.

    A photo whose bytes have changed has another hash, so it never gets the vector of its earlier bytes. Safe to use
    from several threads.
    """

    def __init__(self, encode: Encode, most: int = REMEMBERED) -> None:
        self.encode = encode
        self._known: LRUCache[np.ndarray] = LRUCache(most)

    def read(self, images: Sequence[ImageInput]) -> dict[int, np.ndarray]:
        """The vectors [E] of images by their places in the list, without the unreadable ones; none is remembered."""
        return {place: vector for places, vectors, _ in self.encode(images) for place, vector in zip(places, vectors)}

    def of(
        self, files: Mapping[str, Callable[[], VerifiedFile | None]], progress: Progress | None = None
    ) -> dict[str, np.ndarray]:
        """The vectors [E] of photos by the hashes of their bytes, without those of photos that cannot be read.

        files: by these hashes, what gives the file. It is called for photos without a remembered vector only.
        """
        found = {content: known for content in files if (known := self._known.get(content)) is not None}
        opened = [(content, file) for content, give in files.items() if content not in found and (file := give())]
        with (progress or Progress(enabled=False)).bar(len(opened), "reading similar photos") as advance:
            for places, vectors, unreadable in self.encode([file for _, file in opened]):
                for place, vector in zip(places, vectors):
                    content = opened[place][0]
                    found[content] = np.array(vector)  # a view would keep the vectors of its whole batch
                    self._known.put(content, found[content])
                advance(len(places) + unreadable)
        return found
