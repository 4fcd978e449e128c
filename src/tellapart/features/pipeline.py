"""Decoding, the backbone and writing in parallel: each worker takes a unit of images through all three.

On a CPU every worker is one thread on one core that decodes and runs the network. Small units (four images) keep the
activations in the core's cache, and no core waits for another; that is faster than one network on all cores fed by
decoders that compete with it. On an accelerator the workers decode and take turns at the network. Units do not depend
on the number of workers, so neither do the bytes.
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
from tellapart.images.decoding import Square, stacked
from tellapart.images.opening import UnreadableImage


@dataclass(frozen=True)
class Target:
    """A store to fill: its kind of features, of the images or of their mirror images."""

    kind: str
    flipped: bool
    writer: StoreWriter


@dataclass
class Pipeline:
    """Fills all targets in one pass over the images. All targets share one unit size."""

    pack: Pack
    backbone: Backbone
    targets: list[Target]
    read: Callable[[int], Square]
    """The image of a row, as the square that the backbone reads."""
    regions: list[Regions] | None = None
    """Boxes of each image; needed for targets of kind regions."""
    cut: int = 0
    """Crop regions, resize them to this many pixels and run the network on each; 0: pool the map."""
    cells: bool = False
    """Append the cells of the map to the regions."""
    names: int = 0
    """Number of detector labels to append to each region; 0: none."""
    faults: list[str] = field(default_factory=list)
    """Why images could not be read."""

    def __post_init__(self) -> None:
        self.device = self.backbone.get_buffer("scale").device
        # On an accelerator one network serves all workers in turn.
        self._turn: contextlib.AbstractContextManager[object] = (
            contextlib.nullcontext() if self.device.type == "cpu" else threading.Lock()
        )

    def missing_units(self) -> list[int]:
        """Units that some target does not have yet."""
        plan = self.targets[0].writer.plan
        finished = set.intersection(*(target.writer.finished for target in self.targets))
        return [unit for unit in range(plan.units) if unit not in finished]

    def run(self, workers: int, advance: Callable[[int], None] = lambda images: None) -> None:
        """Write every missing unit; `advance` counts finished images. Unreadable images go to `faults`."""
        units = iter(self.missing_units())
        guard, stop = threading.Lock(), threading.Event()

        def work() -> None:
            if self.device.type == "cpu":
                torch.set_num_threads(1)
            for unit in _shared(units, guard, stop):
                try:
                    advance(self._process(unit))
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

    def _process(self, unit: int) -> int:
        images = self.targets[0].writer.plan.images_of(unit)
        squares, faults = [], []
        for row in images.tolist():
            try:
                squares.append(self.read(row))
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
            seen = see(
                self.backbone, pixels, windows, flipped, regions, cut=self.cut, cells=self.cells, names=self.names
            )
            matching = [target for target in self.targets if target.flipped == flipped]
            return [(target, ROW_MAKERS[target.kind](seen.as_float())) for target in matching]


def _shared(units: Iterator[int], guard: threading.Lock, stop: threading.Event) -> Iterator[int]:
    """The next unit that no worker has taken, until there is none or a worker has failed."""
    while not stop.is_set():
        with guard:
            unit = next(units, None)
        if unit is None:
            return
        yield unit
