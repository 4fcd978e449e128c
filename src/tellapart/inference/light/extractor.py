"""Cells of images by the exported backbone.

Workers decode images and run the backbone, a few images at a time, each on one core. They stay at most a window ahead
of the reader, so that memory does not grow with the number of images.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.images.formats import image_suffixes
from tellapart.images.opening import UnreadableImage, why_unreadable
from tellapart.images.reading import read_squashed
from tellapart.images.sources import ImageInput, ImageSource, as_source
from tellapart.inference.light.exported_run import ExportedRun
from tellapart.inference.light.sessions import Session, as_half, graph_path

UNIT = 4
"""Images that a worker takes through the backbone together: their activations fit into a core's cache."""


@dataclass(frozen=True)
class LightExtracted:
    """Cells of some images, and the faults of those that could not be read."""

    places: list[int]  # [I] positions in the given list
    cells: np.ndarray  # [I, R, D] float32
    faults: dict[int, str]


class LightExtractor:
    """The exported backbone. Safe to call from several threads."""

    def __init__(self, run: ExportedRun, precision: str, workers: int = 0) -> None:
        if workers < 0:
            raise InputError(f"`workers` must be at least 1 (0 for one per core), not {workers}.")
        self.run, self.precision, self.workers = run, precision, workers or cores()
        image_suffixes()  # registers Pillow's plugins before the first image

    @cached_property
    def backbone(self) -> Session:
        """The graph, opened for the first image; that in float32 where there is none in int8."""
        path = graph_path(self.run.backbone, self.precision)
        return Session(path if path.is_file() else graph_path(self.run.backbone, "float32"))

    def extract(self, images: Iterable[ImageInput], batch_size: int = 32) -> Iterator[LightExtracted]:
        """Cells in order, up to `batch_size` images at a time (rounded up to whole units of work)."""
        each = max(1, -(-batch_size // UNIT))
        ahead = each + 2 * self.workers
        numbered = enumerate(images)
        waiting: deque[Future[LightExtracted]] = deque()
        self.backbone  # noqa: B018 - opened once, before the workers ask for it
        pool = ThreadPoolExecutor(self.workers)

        def submit_ahead() -> None:
            while len(waiting) < ahead and (some := list(islice(numbered, UNIT))):
                sources = [as_source(image) for _, image in some]
                waiting.append(pool.submit(self._unit, [place for place, _ in some], sources))

        try:
            submit_ahead()
            while waiting:
                done: list[LightExtracted] = []
                while waiting and len(done) < each:
                    done.append(waiting.popleft().result())
                    submit_ahead()
                yield _joined(done)
        finally:
            pool.shutdown(cancel_futures=True)

    def extract_one(self, image: ImageInput) -> np.ndarray:
        """Cells of one image [1, R, D], or an UnreadableImage error."""
        unit = self._unit([0], [as_source(image)])
        if unit.faults:
            raise UnreadableImage(f"{unit.faults[0]}.")
        return unit.cells

    def cells(self, pixels: np.ndarray) -> np.ndarray:
        """Cells [I, R, D] of squares [I, S, S, 3], rounded to float16 as features on disk are."""
        return as_half(self.backbone(pixels=pixels)["cells"])

    def _unit(self, places: list[int], sources: list[ImageSource]) -> LightExtracted:
        squares: list[np.ndarray] = []
        kept: list[int] = []
        faults: dict[int, str] = {}
        for place, source in zip(places, sources):
            try:
                squares.append(read_squashed(source, self.run.size))
                kept.append(place)
            except UnreadableImage as error:
                faults[place] = why_unreadable(source, str(error)) if isinstance(source, Path) else str(error)
        empty = np.zeros((0, self.run.rows, int(self.run.features["width"])), np.float32)
        return LightExtracted(kept, self.cells(np.stack(squares)) if kept else empty, faults)


def _joined(units: list[LightExtracted]) -> LightExtracted:
    return LightExtracted(
        [place for unit in units for place in unit.places],
        np.concatenate([unit.cells for unit in units]),
        {place: fault for unit in units for place, fault in unit.faults.items()},
    )


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
