"""Mutated images of every format: each is read, or is one image that cannot be used."""

from __future__ import annotations

import functools
import random
from pathlib import Path

from torture.campaign import Campaign, Case, check
from torture.image_files import image_files
from torture.mutants import mutated

EACH = 10_000
"""Cases per format."""


@functools.cache
def _files() -> list[tuple[str, list[bytes]]]:
    return sorted(image_files().items())


def image_of(case: Case) -> tuple[str, bytes]:
    """The suffix and the damaged bytes of a case."""
    files = _files()
    draw = random.Random(f"{case.seed} image {case.number}")
    suffix, variants = files[case.number % len(files)]
    return suffix, mutated(draw.choice(variants), draw, variants)


def read(case: Case) -> None:
    """Read a mutated image in all the ways that commands do."""
    from PIL import Image

    from tellapart.core.errors import Error
    from tellapart.images.checking import check_image
    from tellapart.images.decoding import read_square
    from tellapart.images.opening import UnreadableImage, open_image
    from tellapart.images.preprocessing import Preprocessing
    from tellapart.search.examined import Photo, examine_file
    from tellapart.serve.rendering import to_jpeg
    from tellapart.serve.uploads import RejectedUpload, save_upload

    suffix, data = image_of(case)
    path = case.scratch / f"a{suffix}"
    path.write_bytes(data)
    check_image(path)
    fault = check_image(path, "full").fault
    small = Preprocessing(32, (0.5,) * 3, (0.5,) * 3)
    for resize in ("squash", "crop"):
        try:
            square = read_square(path, small, resize)  # type: ignore[arg-type]
            check(square.pixels.shape == (3, 32, 32), f"a square of {tuple(square.pixels.shape)}")
        except UnreadableImage as error:
            _check_sentence(error, path)
    try:
        image = open_image(path)
        check(not fault, f"opened, although {fault}")
        to_jpeg(image if isinstance(image, Image.Image) else Image.fromarray(image), 16)
    except UnreadableImage as error:
        _check_sentence(error, path)
    examined = examine_file(Photo(str(path), str(case.scratch)))
    check(examined.facts is not None, examined.fault)
    try:
        save_upload(data, 1_000_000, case.scratch)
    except RejectedUpload:
        pass
    except Error as error:
        check(False, f"an upload raises {error!r}")


def _check_sentence(error: Exception, path: Path) -> None:
    check(str(path) in str(error), f"an error without the file's name: {error}")
    check("\n" not in str(error), f"an error of several lines: {error}")


MUTATED_IMAGES = Campaign(
    run=read,
    count=lambda folder: EACH * len(_files()),
    sample=126,
    preload=("tellapart.images.opening", "tellapart.images.decoding", "tellapart.serve.rendering",
             "tellapart.serve.uploads", "tellapart.search.examined", "torture.image_files"),
    chunk=500,
)  # fmt: skip
