"""Captions of the sample photos of scikit-image by the bundled captioner: for the demo, and as a page of docs.

`python -m tellapart.cli.samples --out docs/sample-captions.md` writes the page. It uses only images in the wheel of
scikit-image, so that nothing is downloaded, and not its drawings and test patterns, which are not photos.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tellapart.cli.errors import exit_code
from tellapart.core.errors import InputError
from tellapart.core.files import write_text
from tellapart.runs.bundled import is_bundled

if TYPE_CHECKING:
    from tellapart.inference.caption import Caption

EVERYDAY: dict[str, str] = {
    "astronaut.png": "a smiling woman in an orange space suit, a flag and a model of a shuttle behind her",
    "camera.png": "a man in a dark coat looking through a camera on a tripod, on a lawn; black and white",
    "chelsea.png": "a tabby cat's face",
    "coffee.png": "a cup of coffee with a spoon on its saucer, on a wooden table",
    "coins.png": "rows of ancient coins; black and white",
    "motorcycle_left.png": "a red motorcycle in a garage",
    "rocket.jpg": "a rocket on its launch pad at night",
}
"""Photos of things that captions usually describe."""
OTHERS: dict[str, str] = {
    "brick.png": "a pavement of bricks; black and white",
    "cell.png": "a cell under a microscope; black and white",
    "clock_motion.png": "a clock, so blurred that it cannot be made out; black and white",
    "grass.png": "grass, close; black and white",
    "gravel.png": "gravel, close; black and white",
    "hubble_deep_field.jpg": "galaxies, by a telescope in space",
    "ihc.png": "stained tissue under a microscope",
    "microaneurysms.png": "a small part of a retina; black and white",
    "moon.png": "the surface of the moon; black and white",
    "motorcycle_right.png": "the motorcycle again, from a little to the right",
    "page.png": "printed lines of text; black and white",
    "retina.jpg": "a retina",
    "text.png": "formulas written by hand; black and white",
}
"""Textures, images of instruments and writing: unlike the training images of a captioner."""

ABOUT = (
    "Captions of every photo in the wheel of scikit-image as `tellapart caption` generates them, none selected or",
    "edited by hand. The confidence is the estimated probability that the caption is true; below a threshold,",
    '`caption` and the page say "not sure". Written by `python -m tellapart.cli.samples --out',
    "docs/sample-captions.md`, which `make pages` runs.",
)


def sample_photos(names: Sequence[str]) -> list[Path]:
    """Paths of the installed sample photos."""
    found = importlib.util.find_spec("skimage")
    if found is None or found.origin is None:
        raise InputError("The sample photos come with scikit-image; run `pip install scikit-image`.")
    photos = [Path(found.origin).parent / "data" / name for name in names]
    missing = [photo.name for photo in photos if not photo.is_file()]
    if missing:
        raise InputError(
            f"This version of scikit-image has no {', '.join(missing)}; run `pip install scikit-image==0.26.0`."
        )
    return photos


def sample_captions(photos: Sequence[Path], captioner: str = "bundled:captioner") -> list[Caption]:
    """The caption of each photo, as `tellapart caption` generates it."""
    from tellapart.inference.loading import load_captioner

    return load_captioner(captioner, "cpu").caption(photos)


def confidence_of(caption: Caption) -> str:
    """The confidence of a caption as text; empty for a captioner without.

    >>> from tellapart.inference.caption import Caption
    >>> confidence_of(Caption("a cow", -9.0, confidence=0.123, sure=False)), confidence_of(Caption("a cow", -9.0))
    ('12%, not sure', '')
    """
    if caption.confidence is None:
        return ""
    return f"{caption.confidence:.0%}" + ("" if caption.sure else ", not sure")


def as_page(captions: dict[str, Caption]) -> str:
    """Markdown: every sample photo with what it shows, its caption, and how sure the caption is."""
    lines = ["# Captions of sample photos", "", *ABOUT]
    for title, shown in (("Everyday things", EVERYDAY), ("Unlike its training images", OTHERS)):
        lines += ["", f"## {title}", "", "| photo | what it shows | caption | confidence |", "|---|---|---|---|"]
        lines += [
            f"| {name.partition('.')[0]} | {what} | {captions[name]} | {confidence_of(captions[name])} |"
            for name, what in shown.items()
        ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the page to write")
    options = parser.parse_args()
    if not is_bundled("captioner"):
        print(f"{options.out} is not written: this installation has no bundled captioner.")
        return 0
    names = [*EVERYDAY, *OTHERS]
    return exit_code(lambda: write_text(options.out, as_page(dict(zip(names, sample_captions(sample_photos(names)))))))


if __name__ == "__main__":
    sys.exit(main())
