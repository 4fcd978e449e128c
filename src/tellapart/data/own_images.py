"""Images of a pack as a model's own image processor makes them, read in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.data.stored_pixels import StoredPixels, decoded, has_pixels
from tellapart.data.views import View

if TYPE_CHECKING:
    from tellapart.images.own_processor import OwnProcessor


class OwnImages:
    """Reads image files of a pack, or its stored pixels, with a model's processor."""

    def __init__(self, pack: Pack, processor: OwnProcessor) -> None:
        self.pack, self.processor = pack, processor
        self.stored = StoredPixels(pack) if has_pixels(pack) else None
        self.pool = ThreadPoolExecutor(thread_name_prefix="images")

    def read(self, rows: np.ndarray, seen: Sequence[View]) -> dict[str, Tensor]:
        """The model's inputs, one row per image."""
        if not len(rows):
            rows, seen, empty = np.zeros(1, np.int64), [View()], True
        else:
            empty = False
        shown = list(seen) or [View()] * len(rows)
        parts = list(self.pool.map(self._one, rows.tolist(), shown))
        joined = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        return {name: value[:0] for name, value in joined.items()} if empty else joined

    def window(self, row: int) -> tuple[float, float, float, float]:
        """The part of an image that the model sees: left, top, right, bottom in fractions."""
        image = self.pack.images[row]
        stored = self.stored is not None and self.stored.part[row] >= 0
        known = not stored and image.width > 0 and image.height > 0
        return self.processor.window(*((image.height, image.width) if known else (1, 1)))

    def _one(self, row: int, view: View) -> dict[str, Tensor]:
        image = self._image(row)
        if view.part is not None:
            height, width = image.shape[:2]
            left, top, right, bottom = view.part
            x, y = min(width - 1, int(left * width)), min(height - 1, int(top * height))
            image = image[y : max(y + 1, round(bottom * height)), x : max(x + 1, round(right * width))]
        return self.processor([image[:, ::-1] if view.mirrored else image])

    def _image(self, row: int) -> np.ndarray:
        from tellapart.images.decoding import read_image  # needs Pillow
        from tellapart.images.own_processor import FULL_SIZE

        if self.stored is not None and self.stored.part[row] >= 0:
            return np.asarray(decoded(self.stored.encoded(row)))
        if not self.pack.images[row].file:
            raise InputError(
                f"{self.pack.folder} has no file of the image {self.pack.images[row].id}, but this model reads pixels."
            )
        return read_image(self.pack.image_path(row), FULL_SIZE)
