"""Photos examined in this process.

They flow from chunk to chunk, so that no core waits where one ends: while some are looked at, the next chunk's files
are read and hashed, and the last one's rows are written by whoever reads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from tellapart.search.embedder import Embedded, Embeds
from tellapart.search.examined import Engine, Examined, Photo, examine_file
from tellapart.search.known import holds_content


class _Chunk:
    """Photos whose files have been read; those whose bytes are not among `contents` are still to be looked at."""

    def __init__(self, photos: Sequence[Photo], contents: np.ndarray) -> None:
        self.examined = [examine_file(photo) for photo in photos]
        self.fresh = [
            place
            for place, one in enumerate(self.examined)
            if one.facts is not None and not holds_content(contents, one.facts.content)
        ]
        self.left = len(self.fresh)

    def take(self, place: int, vector: np.ndarray | None, caption: str | None, fault: str) -> None:
        one = self.examined[place]
        self.examined[place] = Examined(one.photo, None if fault else one.facts, vector, caption, fault)
        self.left -= 1


def local_engine(embedder: Embeds, contents: np.ndarray) -> Engine:
    """`contents` are the sorted hashes of what the index holds already."""

    def engine(chunks: Iterator[list[Photo]]) -> Iterator[list[Examined]]:
        begun: deque[_Chunk] = deque()
        asked: dict[int, tuple[_Chunk, int]] = {}

        def following() -> _Chunk | None:
            photos = next(chunks, None)
            return None if photos is None else _Chunk(photos, contents)

        def fresh(ahead: ThreadPoolExecutor) -> Iterator[Path]:
            number, coming = 0, ahead.submit(following)
            while (chunk := coming.result()) is not None:
                coming = ahead.submit(following)
                begun.append(chunk)
                for place in chunk.fresh:
                    asked[number] = chunk, place
                    number += 1
                    yield Path(chunk.examined[place].photo.path)

        with ThreadPoolExecutor(1) as ahead:
            for embedded in embedder.embed_photos(fresh(ahead)):
                for number, vector, caption, fault in _found(embedded):
                    chunk, place = asked.pop(number)
                    chunk.take(place, vector, caption, fault)
                while begun and not begun[0].left:
                    yield begun.popleft().examined
            while begun:
                yield begun.popleft().examined

    return engine


def examine_all(photos: Sequence[Photo], embedder: Embeds, contents: np.ndarray) -> list[Examined]:
    """Facts of all, vectors of those whose bytes are not among `contents`."""
    return [one for chunk in local_engine(embedder, contents)(iter([list(photos)])) for one in chunk]


def _found(embedded: Embedded) -> Iterator[tuple[int, np.ndarray | None, str | None, str]]:
    captions: Sequence[str | None] = embedded.captions or [None] * len(embedded.places)
    for place, vector, caption in zip(embedded.places, embedded.vectors, captions):
        yield place, vector, caption, ""
    for place, fault in embedded.faults.items():
        yield place, None, None, fault
