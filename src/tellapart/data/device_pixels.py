"""Squares of a pack's images on a device: decoded once and kept there as uint8, or decoded for every batch."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.data.square_reader import SquareReader

SHARE = 0.5
"""Of the free memory that kept images may take; the rest is for the model and its activations."""
TOGETHER = 32 * 2**20
"""Bytes that are decoded before they are moved to the device; containers often have 64 MB of shared memory."""
PLACES = ("auto", "device", "stream")


class DevicePixels:
    """`read(rows)` gives uint8 squares [n, S, S, 3] on the device.

    keep: an image stays on the device once it is read, so that later epochs decode nothing.
    processes: worker processes that decode; 0: threads.
    """

    def __init__(self, pack: Pack, side: int, device: torch.device, keep: bool, processes: int = 0) -> None:
        self.device, self.side, self.images = device, side, len(pack.images)
        self.reader = SquareReader(pack, side, processes)
        self.table: Tensor | None = None
        self.keep, self.kept = keep, np.zeros(self.images, dtype=bool)
        self.lock = threading.Lock()

    def read(self, rows: np.ndarray) -> Tensor:
        """The squares of the images at these rows."""
        if not len(rows):
            return torch.zeros(0, self.side, self.side, 3, dtype=torch.uint8, device=self.device)
        with self.lock:
            if not self.keep:
                return torch.cat([self._decoded(some) for some in self._parts(rows)])
            if self.table is None:
                shape = (self.images, self.side, self.side, 3)
                self.table = torch.empty(shape, dtype=torch.uint8, device=self.device)
            for some in self._parts(np.unique(rows[~self.kept[rows]])):
                self.table[self._moved(some)] = self._decoded(some)
                self.kept[some] = True
            return self.table[self._moved(rows)]

    def _parts(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """The rows in parts that are decoded together."""
        count = max(1, TOGETHER // (self.side * self.side * 3))
        for first in range(0, len(rows), count):
            yield rows[first : first + count]

    def _decoded(self, rows: np.ndarray) -> Tensor:
        return self._moved(self.reader.read(rows))

    def _moved(self, array: np.ndarray) -> Tensor:
        """A copy on the device. From pinned memory: any other copy would wait until the GPU has nothing to do."""
        if self.device.type == "cpu":
            return torch.from_numpy(np.array(array))
        return torch.from_numpy(array).pin_memory().to(self.device, non_blocking=True)


def keep_on_device(place: str, images: int, side: int, device: torch.device) -> bool:
    """Whether images are kept on the device: as `place` says (device, stream), or by its free memory (auto)."""
    if place not in PLACES:
        raise InputError(f"`pixels` must be one of {', '.join(PLACES)}, not {place}.")
    if place != "auto":
        return place == "device"
    return images * side * side * 3 <= SHARE * free_memory(device)


def free_memory(device: torch.device) -> int:
    """Free bytes of a device; for a CPU those that the system could give without swapping."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    known = Path("/proc/meminfo")
    if known.is_file():
        for line in known.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
