"""Images in every form that callers give them."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tellapart.core.errors import InputError
from tellapart.images.decoding import read_image
from tellapart.images.sources import as_images, as_source, name_of

ARRAY = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


def test_one_or_many() -> None:
    image = Image.fromarray(ARRAY)
    for one in ("a.png", Path("a.png"), image, ARRAY, ARRAY[:, :, 0], io.BytesIO(b"")):
        assert as_images(one)[1] and len(as_images(one)[0]) == 1
    for many in (["a.png"], (image, ARRAY), np.stack([ARRAY, ARRAY]), iter(["a.png"]), {"a.png": 1}.keys()):
        assert not as_images(many)[1]
    assert len(as_images(np.stack([ARRAY, ARRAY]))[0]) == 2


@pytest.mark.parametrize("wrong", [None, 3, b"bytes"])
def test_what_is_not_an_image_raises(wrong: object) -> None:
    with pytest.raises(InputError, match="is not an image"):
        as_images(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is not an image"):
        as_source(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [ARRAY.astype(float), ARRAY[None], ARRAY[:, :, :2], np.zeros((0, 4, 3), np.uint8)])
def test_arrays_of_other_shapes_raise(wrong: np.ndarray) -> None:
    with pytest.raises(InputError, match="height, width, 3"):
        as_source(wrong)


def test_every_source_decodes_to_the_same_pixels(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(ARRAY).save(path)
    with path.open("rb") as file:
        for given in (str(path), path, Image.fromarray(ARRAY), ARRAY, file, io.BytesIO(path.read_bytes())):
            assert (read_image(as_source(given), 4) == ARRAY).all()


def test_a_pil_image_stays_open_and_whole(tmp_path: Path) -> None:
    """Decoding a JPEG at a smaller scale would change an image that the caller still uses."""
    path = tmp_path / "a.jpg"
    Image.new("RGB", (640, 480), "red").save(path)
    opened = Image.open(path)
    assert read_image(opened, 32).shape == (480, 640, 3) and read_image(path, 32).shape < (480, 640, 3)
    assert opened.size == (640, 480) and opened.getpixel((0, 0))


def test_names(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(ARRAY).save(path)
    assert name_of("a.png") == "a.png" and name_of(path) == str(path) and name_of(Image.open(path)) == str(path)
    with path.open("rb") as file:
        assert name_of(file) == str(path)
    assert name_of(ARRAY) is None and name_of(io.BytesIO(b"")) is None and name_of(Image.fromarray(ARRAY)) is None
