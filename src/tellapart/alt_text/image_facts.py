"""What the file of an image says about its part on a page: its size, whether it is one colour, whether it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tellapart.images.metadata.photo_metadata import read_metadata
from tellapart.images.opening import open_image, why_unreadable

COMPARED = 512
"""Pixels of the centre of an image whose neighbours are compared."""
FLAT = 0.5
"""Share of pixels that equal the pixel to their right in screenshots and diagrams, and in few photos."""


@dataclass(frozen=True)
class ImageFacts:
    """Facts of one file."""

    width: int = 0
    height: int = 0
    one_colour: bool = False
    flat: float = 0.0
    """Share of pixels with the same colour as the next one: high in screenshots, diagrams and logos."""
    description: str | None = None
    """The alternative text or description in its metadata, written by people."""
    fault: str = ""

    @property
    def drawn(self) -> bool:
        """Whether it is a screenshot, a diagram or a drawing rather than a photo."""
        return self.flat >= FLAT


def image_facts(file: Path) -> ImageFacts:
    """Read the facts of a file; `fault` says why it cannot be opened."""
    from PIL import Image

    if file.suffix.lower() in (".svg", ".svgz"):
        return ImageFacts(fault="drawings in SVG cannot be captioned; describe it yourself")
    try:
        with Image.open(file) as opened:
            metadata = read_metadata(opened, file)
            transparent = opened.mode in ("RGBA", "LA") and opened.getchannel("A").getextrema() == (0, 0)
        image = open_image(file)
    except Exception as error:  # a decoder may raise anything for a broken file
        return ImageFacts(fault=why_unreadable(file, str(error)))
    left, top = max(0, (image.width - COMPARED) // 2), max(0, (image.height - COMPARED) // 2)
    pixels = np.asarray(image.crop((left, top, min(image.width, left + COMPARED), min(image.height, top + COMPARED))))
    same = (pixels[:, 1:] == pixels[:, :-1]).all(2)
    one_colour = transparent or len(image.getcolors(1) or ()) == 1
    flat = float(same.mean()) if same.size else 1.0
    return ImageFacts(image.width, image.height, one_colour, flat, metadata.alt_text or metadata.description)
