"""From photos to `Images`: the backbone and settings a run was trained with, on images that are in no pack.

Workers decode and run the network a few photos at a time and at most a window ahead of whoever reads, so that memory
stays the same for ten photos and ten thousand. The rows are `extract`'s own, rounded to float16 as the stored ones are.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tellapart.core.errors import InputError
from tellapart.core.types import Images
from tellapart.data.pack import Detections
from tellapart.features.backbones import load_backbone
from tellapart.features.detectors import Detector, load_detector
from tellapart.features.extract import ACCELERATOR_BATCH, CPU_BATCH, KINDS, cores
from tellapart.features.regions import Regions, choose_regions
from tellapart.features.rows import ROW_MAKERS, see
from tellapart.images.decoding import Resize, Square, read_square, stacked
from tellapart.images.formats import image_suffixes
from tellapart.images.opening import UnreadableImage, why_unreadable


@dataclass(frozen=True)
class Look:
    """How the features of a run were made. Two runs with equal looks can share what one look gives."""

    backbone: str
    kind: str
    resize: Resize
    rows: int
    """Rows of features an image."""
    width: int
    regions_from: str = ""
    """fixed, or a detector's name; empty where the kind is not regions."""
    preprocessing: str = ""
    """The backbone's, written out, as it was when the run was trained."""
    names: tuple[str, ...] = ()
    """What regions may be called, where their features say so."""
    cut: int = 0
    """Pixels a side of regions that are looked at one by one; 0 where they are not."""
    cells: int = 0
    """How many of the rows are cells of the whole image that follow its regions."""

    @property
    def regions(self) -> int:
        return self.rows - self.cells


def look_of(features: Mapping[str, Any] | None, where: Path | str) -> Look:
    """The look of a run from its `data["features"]`; refuses a run whose features no photo can be given."""
    if features is None:
        raise InputError(f"{where} was trained without looking at images, so it cannot be shown photos.")
    backbone = str(features.get("backbone", ""))
    if not backbone or backbone.startswith("imported") or features["kind"] not in KINDS:
        raise InputError(
            f"{where} was trained on features '{features.get('name', '')}' that were made elsewhere, so that photos "
            "cannot be looked at in the same way; train on features from `tellapart extract`."
        )
    origin = str(features.get("regions_from", ""))
    if origin == "detections":
        raise InputError(
            f"{where} was trained on regions from detections that came with its pack, and a photo brings none; train "
            "on a grid, on fixed regions, or on regions from a detector that `tellapart extract` ran."
        )
    stored = features.get("preprocessing")
    return Look(
        backbone,
        str(features["kind"]),
        features["resize"],
        int(features["rows"]),
        int(features["width"]),
        origin,
        "" if stored is None else _written(stored),
        tuple(features["label_names"]) if features.get("named") else (),
        int(features.get("cut", 0)),
        int(features.get("cells", 0)),
    )


@dataclass(frozen=True)
class Looked:
    """A few photos as a model sees them, and what is wrong with those that could not be read."""

    photos: list[int]  # [I] places in the list that was asked for
    images: Images  # [I, R, D]
    faults: dict[int, str]


@dataclass(frozen=True)
class _Unit:
    photos: list[int]
    values: np.ndarray | None  # [I, R, D] float16; None where no photo could be read
    boxes: np.ndarray | None  # [I, R, 4]
    faults: dict[int, str]


class FeatureExtractor:
    """A backbone at work on photos. Opens once, looks often; safe to call from several threads."""

    def __init__(self, look: Look, device: torch.device | str = "cpu", workers: int = 0) -> None:
        if workers < 0:
            raise InputError(f"--workers is at least 1 (0 for one a core), not {workers}.")
        self.look, self.device, self.workers = look, torch.device(device), workers or cores()
        self.backbone = load_backbone(look.backbone).to(self.device)
        now = _written(asdict(self.backbone.preprocessing))
        if look.preprocessing not in ("", now):
            raise InputError(
                f"The backbone {look.backbone} sees images differently here ({now}) than where the run was trained "
                f"({look.preprocessing}); use the same weights and version."
            )
        self.detector = self._detector()
        image_suffixes()  # so that Pillow knows its plugins before the first photo
        # On a CPU every worker has its own core; on an accelerator they decode, and take turns at the network.
        on_cpu = self.device.type == "cpu"
        self.unit = CPU_BATCH if on_cpu else ACCELERATOR_BATCH
        self._turn: contextlib.AbstractContextManager[object] = contextlib.nullcontext() if on_cpu else threading.Lock()

    def look_at(self, photos: Iterable[Path], batch: int = 32) -> Iterator[Looked]:
        """Photos in order, up to `batch` at a time (rounded up to whole units of work); asked for a little ahead."""
        each = max(1, -(-batch // self.unit))
        ahead = each + 2 * self.workers
        units = self._units(photos)
        waiting: deque[Future[_Unit]] = deque()
        threads = torch.get_num_threads()
        one_core_each = torch.set_num_threads if self.device.type == "cpu" else lambda count: None
        pool = ThreadPoolExecutor(self.workers, initializer=one_core_each, initargs=(1,))

        def keep_busy() -> None:
            while len(waiting) < ahead and (unit := next(units, None)) is not None:
                waiting.append(pool.submit(self._do, *unit))

        try:
            one_core_each(1)  # the reader too: more threads than cores would only wait for each other
            keep_busy()
            while waiting:
                done: list[_Unit] = []
                while waiting and len(done) < each:
                    done.append(waiting.popleft().result())
                    keep_busy()
                yield self._joined(done)
        finally:
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(threads)

    def _units(self, photos: Iterable[Path]) -> Iterator[tuple[list[int], list[Path]]]:
        """Places and photos of each unit of work."""
        numbered = enumerate(photos)
        while some := list(islice(numbered, self.unit)):
            yield [place for place, _ in some], [photo for _, photo in some]

    def images(self, photo: Path) -> Images:
        """One photo [1, R, D], or an InputError that says why not."""
        unit = self._do([0], [photo])
        if unit.faults:
            raise UnreadableImage(f"{unit.faults[0]}.")
        return self._joined([unit]).images

    def _do(self, places: list[int], photos: list[Path]) -> _Unit:
        squares: list[Square] = []
        regions: list[Regions] = []
        kept: list[int] = []
        faults: dict[int, str] = {}
        for place, photo in zip(places, photos):
            try:
                squares.append(read_square(photo, self.backbone.preprocessing, self.look.resize))
            except UnreadableImage as error:
                faults[place] = why_unreadable(photo, str(error))
                continue
            kept.append(place)
            if self.look.kind == "regions":
                regions.append(self._regions(photo))
        if not kept:
            return _Unit([], None, None, faults)
        pixels = stacked(squares)  # [I, 3, S, S]
        windows = np.asarray([square.window for square in squares], np.float32)
        with self._turn, torch.inference_mode():
            pixels = pixels.to(self.device).contiguous(memory_format=torch.channels_last)
            look = self.look
            seen = see(
                self.backbone,
                pixels,
                windows,
                regions=regions or None,
                cut=look.cut,
                cells=bool(look.cells),
                names=len(look.names),
            )
            rows = ROW_MAKERS[self.look.kind](seen)
        boxes = None if rows.boxes is None else rows.boxes.reshape(len(kept), -1, 4)
        return _Unit(kept, rows.values.reshape(len(kept), -1, self.look.width), boxes, faults)

    def _detector(self) -> Detector | None:
        if self.look.kind != "regions" or self.look.regions_from == "fixed":
            return None
        detector = load_detector(self.look.regions_from)
        detector.network.to(self.device)
        return detector

    def _regions(self, photo: Path) -> Regions:
        if self.detector is None:
            return choose_regions(None, self.look.regions, {})
        with self._turn:
            boxes, scores, labels = self.detector.detect(photo, self.look.regions)
        names = tuple(self.detector.labels[label] for label in labels.tolist())
        found = Detections(0, tuple(map(tuple, boxes.tolist())), tuple(scores.tolist()), names)  # type: ignore[arg-type]
        known = self.look.names or self.detector.labels
        places = {name: place for place, name in enumerate(known)}
        # A name that no training image was given is passed over: the run has no place for it.
        return choose_regions(found, self.look.regions, {name: places.get(name, -1) for name in names})

    def _joined(self, units: list[_Unit]) -> Looked:
        photos = [place for unit in units for place in unit.photos]
        faults = {place: fault for unit in units for place, fault in unit.faults.items()}
        values = [unit.values for unit in units if unit.values is not None]
        boxes = [unit.boxes for unit in units if unit.boxes is not None]
        empty = np.zeros((0, self.look.rows, self.look.width), np.float16)
        features = torch.from_numpy(np.concatenate(values or [empty])).to(self.device).float()  # [I, R, D]
        return Looked(
            photos,
            Images(
                features,
                torch.ones(features.shape[:2], dtype=torch.bool, device=self.device),
                torch.from_numpy(np.concatenate(boxes)).to(self.device) if boxes else None,
            ),
            faults,
        )


def _written(preprocessing: Mapping[str, Any]) -> str:
    """A backbone's preprocessing as one text, the same from JSON and from memory."""
    parts = {key: list(value) if isinstance(value, tuple) else value for key, value in preprocessing.items()}
    return ", ".join(f"{key} {parts[key]}" for key in sorted(parts))
