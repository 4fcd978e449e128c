"""Squares of many images at once, read by threads or by worker processes that write into shared memory."""

from __future__ import annotations

import contextlib
import multiprocessing
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np

from tellapart.data.pack import Pack
from tellapart.data.squares import Squares

THREADS = 8

_SQUARES: list[Squares] = []
"""Of a worker process."""


class SquareReader:
    """Reads uint8 squares [n, S, S, 3]; `processes` 0 uses threads of this process.

    Decoding holds Python's lock for a part of its time, so a GPU that trains on images as they are decoded needs
    processes.
    """

    def __init__(self, pack: Pack, side: int, processes: int = 0) -> None:
        # A worker of `reproduce` may not start processes itself.
        allowed = not multiprocessing.current_process().daemon
        self.squares, self.processes = Squares(pack, side), processes if allowed else 0
        self._pool: Executor | None = None
        self._memory: SharedMemory | None = None

    def read(self, rows: np.ndarray) -> np.ndarray:
        """The squares of the images at these rows; valid until the next call."""
        side = self.squares.side
        if not len(rows):
            return np.zeros((0, side, side, 3), np.uint8)
        if not self.processes:
            return np.stack(list(self._threads().map(self.squares.read, rows.tolist())))
        memory = self._shared(len(rows) * side * side * 3)
        each = -(-len(rows) // (2 * self.processes))
        jobs = [
            self._workers().submit(_fill, memory.name, first, rows[first : first + each], side)
            for first in range(0, len(rows), each)
        ]
        for job in jobs:
            job.result()
        return _array(memory, len(rows), side)

    def close(self) -> None:
        """End the workers and release the shared memory."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        self._release()

    def __del__(self) -> None:
        self.close()

    def _threads(self) -> Executor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="squares")
        return self._pool

    def _workers(self) -> Executor:
        if self._pool is None:
            # Spawned, not forked: a fork of a process with threads or a GPU may hang.
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(
                self.processes, spawn, initializer=_open, initargs=(self.squares.pack.folder, self.squares.side)
            )
        return self._pool

    def _shared(self, size: int) -> SharedMemory:
        if self._memory is None or self._memory.size < size:
            self._release()
            self._memory = SharedMemory(create=True, size=size)
        return self._memory

    def _release(self) -> None:
        if self._memory is not None:
            with contextlib.suppress(BufferError):  # a reader may still hold the last squares
                self._memory.close()
            self._memory.unlink()
            self._memory = None


def _array(memory: SharedMemory, images: int, side: int) -> np.ndarray:
    """The first images [n, S, S, 3] in shared memory."""
    assert memory.buf is not None
    return np.frombuffer(memory.buf, np.uint8, images * side * side * 3).reshape(images, side, side, 3)


def _open(folder: Path, side: int) -> None:
    _SQUARES[:] = [Squares(Pack(folder), side)]


def _fill(name: str, first: int, rows: np.ndarray, side: int) -> None:
    """Write the squares of some rows into shared memory, from the place `first` on."""
    memory = SharedMemory(name)
    target = _array(memory, first + len(rows), side)[first:]
    for place, row in enumerate(rows.tolist()):
        target[place] = _SQUARES[0].read(row)
    del target
    memory.close()
