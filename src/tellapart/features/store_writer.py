"""Writing features so that a killed extraction resumes where it stopped and ends with the same bytes.

The files get their full size before the first image, since the number of rows per image is known. Images are written
in fixed units, each always of the same images; a unit is added to the journal `progress.jsonl` only after its bytes
are on the disk. `features.json`, without which the folder is not read, is written last.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.checksums import write_checksums
from tellapart.core.errors import InputError
from tellapart.core.file_lock import lock
from tellapart.core.files import make_folder, read_json, save_array, write_json, write_text
from tellapart.data.feature_store import FeatureStore

SYNC_SECONDS = 2.0
"""Seconds of work that are repeated after a kill, at most."""
EXPONENT = 0x7C00
"""The exponent bits of a float16: all ones for infinities and NaN."""


@dataclass(frozen=True)
class StorePlan:
    """Everything that decides the bytes of a store, known before the first image is read."""

    facts: dict[str, Any]
    """The content of features.json: kind, width, backbone, settings. Equal facts mean equal bytes."""
    counts: np.ndarray  # [images] rows per image
    unit: int
    """Images written and journalled together."""
    boxes: bool = False
    detections: bool = False
    """Store scores and labels too."""

    @property
    def units(self) -> int:
        """Number of units."""
        return -(-len(self.counts) // self.unit)

    def images_of(self, unit: int) -> np.ndarray:
        """Image rows of a unit."""
        return np.arange(unit * self.unit, min((unit + 1) * self.unit, len(self.counts)))

    def fingerprint(self) -> str:
        """A hash of the plan."""
        digest = hashlib.sha256(json.dumps([self.facts, self.unit], sort_keys=True).encode())
        digest.update(np.asarray(self.counts, np.int64).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class Rows:
    """The feature rows of some images, concatenated."""

    values: np.ndarray  # [rows, width]
    boxes: np.ndarray | None = None  # [rows, 4]
    scores: np.ndarray | None = None  # [rows]
    labels: np.ndarray | None = None  # [rows]


@dataclass
class StoreWriter:
    """One store being written. Several threads may call `write`, each with different units."""

    folder: Path
    plan: StorePlan
    overwrite: bool = False
    finished: set[int] = field(init=False, default_factory=set)
    """Units that are already written."""
    complete: bool = field(init=False, default=False)
    """The same features were already complete."""

    def __post_init__(self) -> None:
        self._pending: list[int] = []
        self._closed = True
        self._lock = threading.Lock()
        self._offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.plan.counts, dtype=np.int64)])
        if (self.folder / "features.json").is_file():
            if read_json(self.folder / "features.json") == self._all_facts():
                self.complete, self.finished = True, set(range(self.plan.units))
                return
            if not self.overwrite:
                raise InputError(
                    f"{self.folder} holds features made in another way; choose another `name`, or replace them with "
                    "`overwrite=True`."
                )
            shutil.rmtree(self.folder)
        make_folder(self.folder)
        self._open()

    def _open(self) -> None:
        self._guard = (self.folder / ".lock").open("w")
        try:
            lock(self._guard)
        except OSError as error:
            raise InputError(
                f"Another process is writing {self.folder}; wait for it, or choose another `name`."
            ) from error
        header, units = _read_journal(self.folder / "progress.jsonl")
        resumed = header == self.plan.fingerprint() and bool(units)  # without units, no byte is on the disk for certain
        self.finished = units if resumed else set()
        lines = [json.dumps({"plan": self.plan.fingerprint()}), *(str(unit) for unit in sorted(self.finished))]
        rows, width = int(self._offsets[-1]), int(self.plan.facts["width"])
        if not resumed:
            (self.folder / "progress.jsonl").unlink(missing_ok=True)
        self._values = os.open(self.folder / "values.f16", os.O_RDWR | os.O_CREAT, 0o644)
        os.ftruncate(self._values, rows * width * 2)
        self._arrays: dict[str, np.memmap] = {}
        if self.plan.boxes:
            self._arrays["boxes"] = self._array("boxes", (rows, 4), np.float32, resumed)
        if self.plan.detections:
            self._arrays["scores"] = self._array("scores", (rows,), np.float32, resumed)
            self._arrays["labels"] = self._array("labels", (rows,), np.int32, resumed)
        save_array(self.folder / "offsets.npy", self._offsets)
        # Rewrite the whole journal: a line that a kill cut short must not run into the next one.
        write_text(self.folder / "progress.jsonl", "\n".join(lines) + "\n")
        self._journal = (self.folder / "progress.jsonl").open("a", encoding="utf-8")
        self._closed = False
        # A separate thread waits for the disk, so that workers do not leave their cores idle.
        self._stop = threading.Event()
        self._syncer = threading.Thread(target=self._sync_repeatedly, daemon=True, name="sync")
        self._syncer.start()

    def _array(self, name: str, shape: tuple[int, ...], kind: type[np.generic], resumed: bool) -> np.memmap:
        path = self.folder / f"{name}.npy"
        if resumed and path.is_file():
            return np.lib.format.open_memmap(path, mode="r+")
        return np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=shape)

    def write(self, unit: int, rows: Rows) -> None:
        """Write the rows of all images of one unit."""
        if self.complete:
            return
        images = self.plan.images_of(unit)
        first, last = int(self._offsets[images[0]]), int(self._offsets[images[-1] + 1])
        width = int(self.plan.facts["width"])
        values = np.ascontiguousarray(rows.values, dtype=np.float16)
        if values.shape != (last - first, width):
            raise ValueError(f"unit {unit} needs rows {(last - first, width)}, got {values.shape}")
        if values.size and int((values.view(np.uint16) & EXPONENT).max()) == EXPONENT:  # an infinity or NaN
            raise InputError(
                f"The features of image rows {images[0]} to {images[-1]} do not fit float16 (too large or not a "
                "number); check the backbone or the imported files."
            )
        _write_all(self._values, values, first * width * 2)
        for name, array in self._arrays.items():
            array[first:last] = getattr(rows, name)
        with self._lock:
            self._pending.append(unit)

    def _sync_repeatedly(self) -> None:
        while not self._stop.wait(SYNC_SECONDS):
            self._sync()

    def _sync(self) -> None:
        """Flush bytes, then the journal, so that journalled units are on the disk. One thread at a time calls this."""
        with self._lock:
            units, self._pending = self._pending, []
        os.fsync(self._values)
        for array in self._arrays.values():
            array.flush()
        self._journal.writelines(f"{unit}\n" for unit in units)
        self._journal.flush()
        self.finished.update(units)

    def _sync_and_stop(self) -> None:
        self._stop.set()
        self._syncer.join()
        self._sync()

    def close(self) -> None:
        """Keep what is written and close the files; the next extraction resumes from here."""
        if self._closed:
            return
        self._closed = True
        self._sync_and_stop()
        self._journal.close()
        os.close(self._values)
        self._arrays.clear()
        self._guard.close()

    def finish(self) -> FeatureStore:
        """Close the files and mark the store as complete."""
        if not self.complete:
            self._sync_and_stop()
            if len(self.finished) != self.plan.units:
                raise ValueError(f"{self.plan.units - len(self.finished)} units of {self.folder} are not written")
            write_json(self.folder / "features.json", self._all_facts())
            self.close()
            (self.folder / "progress.jsonl").unlink()
            (self.folder / ".lock").unlink()
            write_checksums(self.folder)
        return FeatureStore(self.folder)

    def _all_facts(self) -> dict[str, Any]:
        return {**self.plan.facts, "plan": self.plan.fingerprint()}


def _write_all(file: int, values: np.ndarray, offset: int) -> None:
    view = memoryview(values.reshape(-1).view(np.uint8).data)
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written


def _read_journal(path: Path) -> tuple[str, set[int]]:
    """The plan and the units of an earlier run.

    A last line without a newline, cut short by a kill, is dropped, and everything after a line that a power failure
    damaged: those units are extracted again.
    """
    if not path.is_file():
        return "", set()
    *lines, _ = path.read_text(encoding="utf-8", errors="replace").split("\n")
    try:
        plan = str(json.loads(lines[0]).get("plan", "")) if lines else ""
    except (ValueError, AttributeError):
        return "", set()
    return plan, {int(line) for line in itertools.takewhile(str.isdecimal, lines[1:])}
