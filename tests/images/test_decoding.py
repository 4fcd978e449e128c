from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tellapart.images import decoding
from tellapart.images.decoding import read_image, read_square
from tellapart.images.opening import UnreadableImage, open_image
from tellapart.images.orientation import ORIENTATION, SIXTEEN_BITS, upright_size
from tellapart.images.preprocessing import Interpolation, Preprocessing
from tellapart.images.reading import read_squashed
from tellapart.images.sources import as_source

SMALL = Preprocessing(32, (0.5,) * 3, (0.5,) * 3)


def gradient(width: int, height: int) -> Image.Image:
    """Red grows to the right, green downwards: any turn or mirroring shows."""
    across, down = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return Image.fromarray(np.stack([across, down, np.zeros_like(down)], -1).astype(np.uint8))


def test_squash_shows_the_whole_image_as_pil_resizes_it(tmp_path: Path) -> None:
    gradient(90, 60).save(tmp_path / "a.png")
    square = read_square(tmp_path / "a.png", SMALL, "squash")
    expected = np.asarray(gradient(90, 60).resize((32, 32), Image.Resampling.BILINEAR)).astype(int)
    assert square.window == (0, 0, 1, 1)
    assert square.pixels.dtype == torch.uint8
    assert np.abs(square.pixels.permute(1, 2, 0).numpy().astype(int) - expected).max() <= 1


@pytest.mark.parametrize("size", [(90, 60), (20, 40), (32, 32)])
def test_torch_sees_the_same_squares_as_exported_models(tmp_path: Path, size: tuple[int, int]) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (*size, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "a.png")
    pixels = read_square(tmp_path / "a.png", SMALL, "squash").pixels.permute(1, 2, 0).numpy()
    assert np.array_equal(pixels, read_squashed(tmp_path / "a.png", 32))


def test_crop_takes_the_centre_and_says_which_part(tmp_path: Path) -> None:
    """Short side 32 / 0.875 = 37 (rounded), long side 74: left (74 - 32) / 2 = 21, top (37 - 32) // 2 = 2."""
    gradient(100, 50).save(tmp_path / "a.png")
    square = read_square(tmp_path / "a.png", SMALL, "crop")
    assert square.pixels.shape == (3, 32, 32)
    assert square.window == pytest.approx((21 / 74, 2 / 37, 53 / 74, 34 / 37))
    assert float(square.pixels[0].float().mean()) == pytest.approx(127.5, abs=3)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_images_are_turned_upright(tmp_path: Path, orientation: int) -> None:
    from PIL import ImageOps

    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    gradient(40, 24).save(tmp_path / "a.png", exif=exif)
    with Image.open(tmp_path / "a.png") as opened:
        expected = np.asarray(ImageOps.exif_transpose(opened))
        assert upright_size(opened) == expected.shape[1::-1]
    np.testing.assert_array_equal(read_image(tmp_path / "a.png", 8), expected)


def test_a_large_jpeg_is_decoded_small_but_not_too_small(tmp_path: Path) -> None:
    gradient(800, 640).save(tmp_path / "a.jpg")
    height, width, _ = read_image(tmp_path / "a.jpg", 64).shape
    assert (height, width) < (640, 800)
    assert min(height, width) >= 64


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1"])
def test_every_colour_mode_becomes_rgb(tmp_path: Path, mode: str) -> None:
    suffix = "jpg" if mode == "CMYK" else "png"
    gradient(20, 20).convert(mode).save(tmp_path / f"a.{suffix}")
    assert read_square(tmp_path / f"a.{suffix}", SMALL, "squash").pixels.shape == (3, 32, 32)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bits_of_grey_become_eight(tmp_path: Path, suffix: str) -> None:
    values = np.arange(0, 65536, 257, dtype=np.uint16).reshape(16, 16)
    Image.fromarray(values).save(tmp_path / f"a.{suffix}")
    with Image.open(tmp_path / f"a.{suffix}") as opened:
        assert opened.mode in SIXTEEN_BITS
    for shown in (read_image(tmp_path / f"a.{suffix}", 8), np.asarray(open_image(tmp_path / f"a.{suffix}"))):
        np.testing.assert_array_equal(shown, np.repeat((values // 257)[:, :, None], 3, axis=2))


@pytest.mark.parametrize("highest", [65535, 4095])
def test_sixteen_bits_that_pillow_widens_become_eight_too(tmp_path: Path, highest: int) -> None:
    """A PGM says how bright white is (twelve bits of a camera, say), and Pillow brings that to 65,535 itself."""
    values = np.linspace(0, highest, 256).astype(">u2").reshape(16, 16)
    (tmp_path / "a.pgm").write_bytes(f"P5 16 16 {highest} ".encode() + values.tobytes())
    expected = np.repeat((values.astype(np.float64) * 255 / highest)[:, :, None], 3, axis=2)
    np.testing.assert_allclose(read_image(tmp_path / "a.pgm", 8), expected, atol=1)


def test_files_that_are_no_images_are_named(tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("not an image")
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8))
    noise.save(tmp_path / "whole.jpg")
    data = (tmp_path / "whole.jpg").read_bytes()
    (tmp_path / "half.jpg").write_bytes(data[: len(data) // 2])
    for name in ("text.jpg", "half.jpg", "absent.jpg"):
        with pytest.raises(UnreadableImage, match=name):
            read_image(tmp_path / name, 8)


def test_of_a_very_slim_image_the_middle_is_shown_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 x 30,000 with two white pixels in the middle: the square is white, and nothing huge is made on the way."""
    pixels = np.zeros((1, 30_000, 3), np.uint8)
    pixels[:, 14_999:15_001] = 255
    Image.fromarray(pixels).save(tmp_path / "slim.png")
    made: list[int] = []
    resized = decoding._resized

    def counted(image: torch.Tensor, height: int, width: int, interpolation: Interpolation) -> torch.Tensor:
        made.append(height * width)
        return resized(image, height, width, interpolation)

    monkeypatch.setattr(decoding, "_resized", counted)
    square = read_square(tmp_path / "slim.png", Preprocessing(28, (0, 0, 0), (1, 1, 1)), "crop")
    assert made == [32 * 32 * decoding.LARGEST_RATIO]
    assert square.pixels.shape == (3, 28, 28) and square.pixels.float().mean() > 200
    left, top, right, bottom = square.window
    assert (top, bottom) == pytest.approx((2 / 32, 30 / 32))
    assert left < 0.5 < right and right - left == pytest.approx(28 / 32 / 30_000)


def test_the_reason_of_an_unreadable_file_names_no_object_in_memory(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_text("no image")
    with (
        (tmp_path / "a.jpg").open("rb") as file,
        pytest.raises(UnreadableImage, match="format is not recognised") as one,
    ):
        read_squashed(as_source(file), 32)
    assert "object at" not in str(one.value)
