"""Encoding photos for an index in this process.

Photos flow across chunks, so that no core waits at the end of one: while some photos are encoded, the files of the next
chunk are read and hashed, and the rows of the last one are written by the reader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tellapart.images.verified_file import VerifiedFile
from tellapart.search.embedded import Embedded, Embeds
from tellapart.search.examined import Engine, Examined, Photo, examine_files
from tellapart.search.known import holds_content


class _Chunk:
    """Photos whose files have been read; those whose bytes are not among `contents` are still to be encoded."""

    def __init__(self, photos: Sequence[Photo], contents: np.ndarray) -> None:
        self.examined = examine_files(photos)
        self.new = [
            place
            for place, one in enumerate(self.examined)
            if one.facts is not None and not holds_content(contents, one.facts.content)
        ]
        self.remaining = len(self.new)
        self.files: dict[int, VerifiedFile] = {}

    def file(self, place: int) -> VerifiedFile:
        """The file of a photo: only the bytes that were hashed may be decoded."""
        one = self.examined[place]
        assert one.facts is not None
        self.files[place] = VerifiedFile(one.photo.file, one.facts.content)
        return self.files[place]

    def finish(self, place: int, described: Embedded, row: int) -> None:
        """Set the vector and caption of a photo: those of a row."""
        one = self.examined[place]
        self._set(
            place,
            Examined(
                one.photo,
                one.facts,
                described.vectors[row],
                described.captions[row] if described.captions else None,
                confidence=described.confidence[row] if described.confidence else None,
                sure=described.sure[row] if described.sure else None,
            ),
        )

    def fail(self, place: int, fault: str) -> None:
        """Set the fault of a photo."""
        self._set(place, Examined(self.examined[place].photo, None, fault=fault))

    def _set(self, place: int, one: Examined) -> None:
        changed = self.files.pop(place).changed
        self.examined[place] = Examined(one.photo, None, fault=one.fault, changed=True) if changed else one
        self.remaining -= 1


def local_engine(embedder: Embeds, contents: np.ndarray) -> Engine:
    """An engine that runs here; `contents` are the sorted hashes of what the index holds already."""

    def engine(chunks: Iterator[list[Photo]]) -> Iterator[list[Examined]]:
        started: deque[_Chunk] = deque()
        submitted: dict[int, tuple[_Chunk, int]] = {}

        def next_chunk() -> _Chunk | None:
            photos = next(chunks, None)
            return None if photos is None else _Chunk(photos, contents)

        def new_photos(reader: ThreadPoolExecutor) -> Iterator[VerifiedFile]:
            number, coming = 0, reader.submit(next_chunk)
            while (chunk := coming.result()) is not None:
                coming = reader.submit(next_chunk)
                started.append(chunk)
                for place in chunk.new:
                    submitted[number] = chunk, place
                    number += 1
                    yield chunk.file(place)

        with ThreadPoolExecutor(1) as reader:
            for embedded in embedder.embed_photos(new_photos(reader)):
                for row, number in enumerate(embedded.places):
                    chunk, place = submitted.pop(number)
                    chunk.finish(place, embedded, row)
                for number, fault in embedded.faults.items():
                    chunk, place = submitted.pop(number)
                    chunk.fail(place, fault)
                while started and not started[0].remaining:
                    yield started.popleft().examined
            while started:
                yield started.popleft().examined

    return engine


def examine_all(photos: Sequence[Photo], embedder: Embeds, contents: np.ndarray) -> list[Examined]:
    """Facts of all photos, vectors of those whose bytes are not among `contents`."""
    return [one for chunk in local_engine(embedder, contents)(iter([list(photos)])) for one in chunk]
