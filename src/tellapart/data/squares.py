"""The images of a pack as squares of one size: from its stored pixels, or from the image files where it has none."""

from __future__ import annotations

import numpy as np

from tellapart.core.errors import InputError, Step
from tellapart.data.pack import Pack
from tellapart.data.stored_pixels import StoredPixels, decoded, has_pixels


class Squares:
    """Reads uint8 squares [S, S, 3] of images, squashed to `side` pixels. Needs torch only to read image files."""

    def __init__(self, pack: Pack, side: int) -> None:
        self.pack, self.side = pack, side
        self.stored = StoredPixels(pack) if has_pixels(pack) else None

    def check(self, rows: np.ndarray) -> None:
        """Raise an InputError that names an image which has neither stored pixels nor a file."""
        absent = rows if self.stored is None else rows[~self.stored.stored[rows]]
        lost = [row for row in absent.tolist() if not self.pack.images[row].file]
        if lost:
            raise InputError(
                f"{len(lost)} of {len(rows)} images of {self.pack.folder} have neither stored pixels nor a file, "
                f"{self.pack.images[lost[0]].id} among them; add the parts that hold them.",
                Step("extract", self.pack.folder, add_pixels="PART"),
            )

    def read(self, row: int) -> np.ndarray:
        """The square of one image."""
        if self.stored is None or self.stored.part[row] < 0:
            return self._from_file(row)
        pixels = decoded(self.stored.encoded(row))
        return pixels if len(pixels) == self.side else _resized(pixels, self.side)

    def _from_file(self, row: int) -> np.ndarray:
        # Imported here so that worker processes that read stored pixels start without torch.
        from tellapart.images.decoding import read_whole

        if not self.pack.images[row].file:
            self.check(np.asarray([row]))
        return read_whole(self.pack.image_path(row), self.side)


def _resized(pixels: np.ndarray, side: int) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.fromarray(pixels).resize((side, side), Image.Resampling.BILINEAR))


def stored_side(pack: Pack) -> int:
    """Side of the pack's stored pixels; 0 if it has none."""
    return StoredPixels(pack).side if has_pixels(pack) else 0
