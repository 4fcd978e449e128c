"""Features of images that are in no pack, made as the features of a run were.

Workers decode images and run the backbone, a few images at a time. They stay at most a window ahead of the reader, so
that memory does not grow with the number of images. In float32 the rows equal those of `tellapart extract`, rounded to
float16.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from tellapart.core.errors import InputError
from tellapart.core.precision import uses_bfloat16
from tellapart.core.types import Images
from tellapart.data.pack_types import Detections
from tellapart.features.backbones import load_backbone
from tellapart.features.detectors import Detector, load_detector
from tellapart.features.extract import ACCELERATOR_BATCH, CPU_BATCH, cores
from tellapart.features.regions import Regions, choose_regions
from tellapart.features.rows import ROW_MAKERS, see
from tellapart.images.decoding import Square, stacked
from tellapart.images.formats import image_suffixes
from tellapart.images.opening import UnreadableImage, why_unreadable
from tellapart.images.sources import ImageInput, ImageSource, as_source
from tellapart.inference.feature_spec import FeatureSpec, preprocessing_text


@dataclass(frozen=True)
class Extracted:
    """Features of some images, and the faults of those that could not be read."""

    places: list[int]  # [I] positions in the given list
    images: Images  # [I, R, D]
    faults: dict[int, str]


@dataclass(frozen=True)
class _Unit:
    places: list[int]
    values: np.ndarray | None  # [I, R, D] float16; None if no image could be read
    boxes: np.ndarray | None  # [I, R, 4]
    faults: dict[int, str]


class FeatureExtractor:
    """A backbone, and a detector where regions need one. Safe to call from several threads."""

    def __init__(
        self, spec: FeatureSpec, device: torch.device | str = "cpu", workers: int = 0, precision: str = "auto"
    ) -> None:
        if workers < 0:
            raise InputError(f"`workers` must be at least 1 (0 for one per core), not {workers}.")
        self.spec, self.device, self.workers = spec, torch.device(device), workers or cores()
        self.bfloat16 = uses_bfloat16(precision, self.device)
        self.backbone = load_backbone(spec.backbone).to(self.device)
        now = preprocessing_text(asdict(self.backbone.preprocessing))
        if spec.preprocessing not in ("", now):
            raise InputError(
                f"The backbone {spec.backbone} preprocesses images differently here ({now}) than when the run was "
                f"trained ({spec.preprocessing}); use the same weights and version."
            )
        self.detector = self._load_detector()
        image_suffixes()  # registers Pillow's plugins before the first image
        # On a CPU every worker has its own core; on an accelerator they decode in parallel and share the network.
        on_cpu = self.device.type == "cpu"
        self.unit = CPU_BATCH if on_cpu else ACCELERATOR_BATCH
        self._network: contextlib.AbstractContextManager[object] = (
            contextlib.nullcontext() if on_cpu else threading.Lock()
        )

    def extract(self, images: Iterable[ImageInput], batch_size: int = 32) -> Iterator[Extracted]:
        """Features in order, up to `batch_size` images at a time (rounded up to whole units of work)."""
        each = max(1, -(-batch_size // self.unit))
        ahead = each + 2 * self.workers
        units = self._units(images)
        waiting: deque[Future[_Unit]] = deque()
        threads = torch.get_num_threads()
        set_threads = torch.set_num_threads if self.device.type == "cpu" else lambda count: None
        pool = ThreadPoolExecutor(self.workers, initializer=set_threads, initargs=(1,))

        def submit_ahead() -> None:
            while len(waiting) < ahead and (unit := next(units, None)) is not None:
                waiting.append(pool.submit(self._extract_unit, *unit))

        try:
            set_threads(1)  # the reader too: more threads than cores would wait for each other
            submit_ahead()
            while waiting:
                done: list[_Unit] = []
                while waiting and len(done) < each:
                    done.append(waiting.popleft().result())
                    submit_ahead()
                yield self._joined(done)
        finally:
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(threads)

    def extract_one(self, image: ImageInput) -> Images:
        """Features of one image [1, R, D], or an UnreadableImage error."""
        unit = self._extract_unit([0], [as_source(image)])
        if unit.faults:
            raise UnreadableImage(f"{unit.faults[0]}.")
        return self._joined([unit]).images

    def _units(self, images: Iterable[ImageInput]) -> Iterator[tuple[list[int], list[ImageSource]]]:
        """Positions and images of each unit of work."""
        numbered = enumerate(images)
        while some := list(islice(numbered, self.unit)):
            yield [place for place, _ in some], [as_source(image) for _, image in some]

    def _extract_unit(self, places: list[int], sources: list[ImageSource]) -> _Unit:
        squares: list[Square] = []
        regions: list[Regions] = []
        kept: list[int] = []
        faults: dict[int, str] = {}
        for place, source in zip(places, sources):
            try:
                square = self.backbone.square(source, self.spec.resize)
                if self.spec.kind == "regions":
                    regions.append(self._regions(source))
            except UnreadableImage as error:
                faults[place] = why_unreadable(source, str(error)) if isinstance(source, Path) else str(error)
                continue
            squares.append(square)
            kept.append(place)
        if not kept:
            return _Unit([], None, None, faults)
        pixels = stacked(squares)  # [I, 3, S, S]
        windows = np.asarray([square.window for square in squares], np.float32)
        rounding = torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bfloat16)
        with self._network, torch.inference_mode():
            with rounding:
                seen = see(
                    self.backbone,
                    pixels.to(self.device).contiguous(memory_format=torch.channels_last),
                    windows,
                    regions=regions or None,
                    cut=self.spec.cut,
                    cells=bool(self.spec.cells),
                    names=len(self.spec.names),
                )
            rows = ROW_MAKERS[self.spec.kind](seen.as_float())
        boxes = None if rows.boxes is None else rows.boxes.reshape(len(kept), -1, 4)
        return _Unit(kept, rows.values.reshape(len(kept), -1, self.spec.width), boxes, faults)

    def _load_detector(self) -> Detector | None:
        if self.spec.kind != "regions" or self.spec.regions_from == "fixed":
            return None
        detector = load_detector(self.spec.regions_from)
        detector.network.to(self.device)
        return detector

    def _regions(self, source: ImageSource) -> Regions:
        if self.detector is None:
            return choose_regions(None, self.spec.regions, {})
        with self._network:
            boxes, scores, labels = self.detector.detect(source, self.spec.regions)
        names = tuple(self.detector.labels[label] for label in labels.tolist())
        found = Detections(0, tuple(map(tuple, boxes.tolist())), tuple(scores.tolist()), names)
        known = self.spec.names or self.detector.labels
        places = {name: place for place, name in enumerate(known)}
        # The run has no place for a name that no training image had.
        return choose_regions(found, self.spec.regions, {name: places.get(name, -1) for name in names})

    def _joined(self, units: list[_Unit]) -> Extracted:
        places = [place for unit in units for place in unit.places]
        faults = {place: fault for unit in units for place, fault in unit.faults.items()}
        values = [unit.values for unit in units if unit.values is not None]
        boxes = [unit.boxes for unit in units if unit.boxes is not None]
        empty = np.zeros((0, self.spec.rows, self.spec.width), np.float16)
        features = torch.from_numpy(np.concatenate(values or [empty])).to(self.device).float()  # [I, R, D]
        mask = torch.ones(features.shape[:2], dtype=torch.bool, device=self.device)
        joined_boxes = torch.from_numpy(np.concatenate(boxes)).to(self.device) if boxes else None
        return Extracted(places, Images(features, mask, joined_boxes), faults)
