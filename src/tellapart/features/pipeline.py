"""Decoding, the backbone and writing, side by side: each worker takes a unit of images through all three.

On a CPU every worker is one thread with one core for decoding and network alike. Small units (four images) keep the
network's activations in the core's cache, and no core waits for another; that is faster than one network spread over
all cores fed by decoders that compete with it. On an accelerator the workers decode and take turns at the network.
Units never change with the number of workers, so neither do the bytes.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from tellapart.data.pack import Pack
from tellapart.features.backbones import Backbone
from tellapart.features.regions import Regions
from tellapart.features.rows import ROW_MAKERS, see
from tellapart.features.store_writer import Rows, StoreWriter
from tellapart.images.decoding import Resize, read_square, stacked
from tellapart.images.opening import UnreadableImage


@dataclass(frozen=True)
class Target:
    """A store to fill: which kind of features, of the images or of their mirror images."""

    kind: str
    flipped: bool
    writer: StoreWriter


@dataclass
class Pipeline:
    """Fills all targets in one pass over the images. All targets share one unit size."""

    pack: Pack
    backbone: Backbone
    targets: list[Target]
    resize: Resize
    regions: list[Regions] | None = None
    """Boxes of each image; needed where a target's kind is regions."""
    cut: int = 0
    """Regions are cut out, made squares of so many pixels and looked at one by one; 0: pooled from the map."""
    cells: bool = False
    """Regions are followed by the cells of the image's map."""
    names: int = 0
    """With some, regions also say which of so many names a detector gave them."""
    faults: list[str] = field(default_factory=list)
    """What is wrong with each image that could not be read."""

    def __post_init__(self) -> None:
        self.device = self.backbone.get_buffer("scale").device
        # On an accelerator one network serves all workers in turn.
        self._turn: contextlib.AbstractContextManager[object] = (
            contextlib.nullcontext() if self.device.type == "cpu" else threading.Lock()
        )

    def missing_units(self) -> list[int]:
        """Units that some target has not got yet."""
        plan = self.targets[0].writer.plan
        finished = set.intersection(*(target.writer.finished for target in self.targets))
        return [unit for unit in range(plan.units) if unit not in finished]

    def run(self, workers: int, advance: Callable[[int], None] = lambda images: None) -> None:
        """Write every missing unit; `advance` hears how many images are done. Unreadable images go into `faults`."""
        units = iter(self.missing_units())
        guard, stop = threading.Lock(), threading.Event()

        def work() -> None:
            if self.device.type == "cpu":
                torch.set_num_threads(1)
            for unit in _shared(units, guard, stop):
                try:
                    advance(self._do(unit))
                except BaseException:
                    stop.set()
                    raise

        threads = torch.get_num_threads()
        try:
            with ThreadPoolExecutor(workers) as pool:
                running = [pool.submit(work) for _ in range(workers)]
                try:
                    for future in running:
                        future.result()
                finally:
                    stop.set()
        finally:
            torch.set_num_threads(threads)

    def _do(self, unit: int) -> int:
        images = self.targets[0].writer.plan.images_of(unit)
        squares, faults = [], []
        for row in images.tolist():
            try:
                squares.append(read_square(self.pack.image_path(row), self.backbone.preprocessing, self.resize))
            except UnreadableImage as error:
                faults.append(str(error))
        if faults:
            self.faults.extend(faults)
            return len(images)
        pixels = stacked(squares)  # [I, 3, S, S]
        windows = np.asarray([square.window for square in squares], np.float32)
        for flipped in sorted({target.flipped for target in self.targets}):
            for target, rows in self._rows(pixels, images, windows, flipped):
                target.writer.write(unit, rows)
        return len(images)

    def _rows(
        self, pixels: Tensor, images: np.ndarray, windows: np.ndarray, flipped: bool
    ) -> list[tuple[Target, Rows]]:
        with self._turn, torch.inference_mode():
            pixels = pixels.to(self.device)
            pixels = (pixels.flip(3) if flipped else pixels).contiguous(memory_format=torch.channels_last)
            regions = None if self.regions is None else [self.regions[row] for row in images.tolist()]
            seen = see(self.backbone, pixels, windows, flipped, regions, self.cut, self.cells, self.names)
            wanted = [target for target in self.targets if target.flipped == flipped]
            return [(target, ROW_MAKERS[target.kind](seen)) for target in wanted]


def _shared(units: Iterator[int], guard: threading.Lock, stop: threading.Event) -> Iterator[int]:
    """The next unit nobody has taken, until there is none or a worker has failed."""
    while not stop.is_set():
        with guard:
            unit = next(units, None)
        if unit is None:
            return
        yield unit
