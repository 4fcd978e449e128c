"""What a model of `transformers` sees of images, through its own processor: vectors, rows, or the processor's outputs.

Images are decoded and processed in threads, a batch ahead of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.types import Images
from tellapart.features.extract import cores
from tellapart.images.decoding import read_image
from tellapart.images.opening import UnreadableImage, why_unreadable
from tellapart.images.own_processor import FULL_SIZE
from tellapart.images.sources import ImageInput, ImageSource, as_source
from tellapart.inference.feature_extractor import Extracted
from tellapart.inference.feature_spec import FeatureSpec, run_spec
from tellapart.models.captioners.pretrained import PretrainedCaptionerModel
from tellapart.models.hub.reading import OwnReading
from tellapart.models.matchers.pretrained import PretrainedModel
from tellapart.runs.fingerprint import fingerprint
from tellapart.runs.own_processing import has_own_processor
from tellapart.runs.run import OWN, Run

Seen = dict[str, Tensor] | str
"""Inputs of one image, or why it cannot be read."""


class OwnExtractor:
    """A model's own processor and its image side; the same methods as `FeatureExtractor`."""

    def __init__(self, run: Run, spec: FeatureSpec, device: torch.device | str = "cpu", workers: int = 0) -> None:
        if workers < 0:
            raise InputError(f"`workers` must be at least 1 (0 for one per core), not {workers}.")
        self.model, self.spec, self.device = run.model, spec, torch.device(device)
        self.workers = workers or cores()
        reading = run.model.reading
        assert isinstance(reading, OwnReading) and reading.processor is not None
        self.processor = reading.processor

    def extract(self, images: Iterable[ImageInput], batch_size: int = 32) -> Iterator[Extracted]:
        """Features in order, up to `batch_size` images at a time."""
        numbered = enumerate(images)
        pool = ThreadPoolExecutor(self.workers)

        def submit() -> list[tuple[int, Future[Seen]]]:
            some = list(islice(numbered, max(1, batch_size)))
            return [(place, pool.submit(self._read, as_source(image))) for place, image in some]

        try:
            coming = submit()
            while coming:
                now, coming = coming, submit()
                yield from self._batches([(place, future.result()) for place, future in now])
        finally:
            pool.shutdown(cancel_futures=True)

    def extract_one(self, image: ImageInput) -> Images:
        """Features of one image, or an UnreadableImage error."""
        seen = self._read(as_source(image))
        if isinstance(seen, str):
            raise UnreadableImage(f"{seen}.")
        return self._images(seen)

    def _read(self, source: ImageSource) -> Seen:
        try:
            return self.processor([read_image(source, FULL_SIZE)])
        except UnreadableImage as error:
            return why_unreadable(source, str(error)) if isinstance(source, Path) else str(error)

    def _batches(self, read: list[tuple[int, Seen]]) -> Iterator[Extracted]:
        """One batch, or one per image where the processor's outputs differ in shape."""
        faults = {place: seen for place, seen in read if isinstance(seen, str)}
        good = [(place, seen) for place, seen in read if not isinstance(seen, str)]
        same = len({tuple((name, value.shape) for name, value in seen.items()) for _, seen in good}) == 1
        groups = [good] if same or not good else [[one] for one in good]
        for number, group in enumerate(groups):
            places = [place for place, _ in group]
            own = faults if number == len(groups) - 1 else {}
            if not group:
                empty = torch.zeros(0, self.spec.rows, self.spec.width, device=self.device)
                yield Extracted([], Images(empty, empty[..., 0].bool()), own)
                continue
            joined = {name: torch.cat([seen[name] for _, seen in group]) for name in group[0][1]}
            yield Extracted(places, self._images(joined), own)

    @torch.inference_mode()
    def _images(self, inputs: dict[str, Tensor]) -> Images:
        moved = {name: value.to(self.device) for name, value in inputs.items()}
        count = len(next(iter(moved.values())))
        empty = Images(
            torch.zeros(count, 1, 0, device=self.device),
            torch.ones(count, 1, dtype=torch.bool, device=self.device),
            columns=moved,
        )
        return seen_by(self.model, empty)


def seen_by(model: object, images: Images) -> Images:
    """Processed images as features that the model reads: the tower's vector, the encoder's rows, or as they are."""
    if isinstance(model, PretrainedModel):
        features, boxes = model.tower(images).float().unsqueeze(1), None
    elif isinstance(model, PretrainedCaptionerModel):
        features = model.rows(images).float()
        boxes = model.boxes(features.shape[1]).to(features.device).expand(len(features), -1, -1)
    else:
        return images
    mask = torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)
    return Images(features, mask, boxes)


def spec_of(run: Run) -> FeatureSpec:
    """What a run sees of an image; InputError if photos cannot be seen so."""
    if not has_own_processor(run):
        return run_spec(run.data, run.folder)
    reading = run.model.reading
    assert isinstance(reading, OwnReading)
    if reading.processor is None:
        raise InputError(f"{run.folder} has no image processor (preprocessor_config.json); save it into the folder.")
    grey = np.full((64, 64, 3), 127, np.uint8)
    device = next(run.model.parameters()).device
    columns = {name: value.to(device) for name, value in reading.processor([grey]).items()}
    with torch.inference_mode():
        seen = seen_by(run.model, Images(torch.zeros(1, 1, 0), torch.ones(1, 1, dtype=torch.bool), columns=columns))
    rows, width = seen.features.shape[1:]
    kind = "vector" if rows == 1 else "grid"
    identity = fingerprint(run.folder)
    return FeatureSpec(str(run.folder), kind, resize=OWN, rows=rows, width=width, identity=identity)  # type: ignore[arg-type]
