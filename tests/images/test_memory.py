"""Large images: reduced while they are decoded, and few at a time."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tellapart.images import reading
from tellapart.images.decoding import read_image, read_square
from tellapart.images.orientation import ORIENTATION
from tellapart.images.pixel_budget import PixelBudget
from tellapart.images.preprocessing import Preprocessing

SMALL = Preprocessing(32, (0.5,) * 3, (0.5,) * 3)


def smooth(width: int, height: int) -> Image.Image:
    across, down = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return Image.fromarray(np.stack([across, down, 255 - across], -1).astype(np.uint8))


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "L", "CMYK"])
@pytest.mark.parametrize("orientation", [1, 6])
def test_a_large_image_is_reduced_to_nearly_the_same_square(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, orientation: int
) -> None:
    path = tmp_path / ("a.tiff" if mode == "CMYK" else "a.png")
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    smooth(600, 400).convert(mode).save(path, exif=exif)
    whole = read_square(path, SMALL, "squash").pixels.int()
    monkeypatch.setattr(reading, "LARGE", 10_000)
    height, width, _ = read_image(path, 32).shape
    assert (min(height, width), max(height, width)) == (67, 100)  # 400 // 64 = 6: each 6 x 6 pixels become one
    assert int((read_square(path, SMALL, "squash").pixels.int() - whole).abs().max()) <= 5


def test_usual_images_are_not_reduced(tmp_path: Path) -> None:
    smooth(300, 200).save(tmp_path / "a.png")
    assert read_image(tmp_path / "a.png", 8).shape == (200, 300, 3)


def test_threads_together_decode_few_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smooth(100, 100).save(tmp_path / "a.png")
    budget, most, guard = PixelBudget(25_000), [0], threading.Lock()
    monkeypatch.setattr(reading, "BUDGET", budget)
    real, two = reading.upright, threading.Barrier(2, timeout=60)

    def in_pairs(image: Image.Image, reduced: int = 1) -> Image.Image:
        two.wait()  # two of the threads are here at once, and no third
        with guard:
            most[0] = max(most[0], budget.used)
        two.wait()
        return real(image, reduced)

    monkeypatch.setattr(reading, "upright", in_pairs)
    with ThreadPoolExecutor(6) as pool:
        shapes = [one.shape for one in pool.map(lambda _: read_image(tmp_path / "a.png", 8), range(12))]
    assert shapes == [(100, 100, 3)] * 12
    assert most[0] == 20_000 and budget.used == 0


def test_an_image_over_the_limit_is_decoded_alone_and_errors_free_their_room(tmp_path: Path) -> None:
    budget = PixelBudget(10)
    with budget.decoding(100, 100):
        assert budget.used == 10_000
    with pytest.raises(ValueError), budget.decoding(2, 2):
        raise ValueError
    assert budget.used == 0


PROGRAM = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tellapart.images.decoding import read_image
from tellapart.images.pixel_budget import BUDGET
BUDGET.most = 30_000_000
peak = lambda: int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
before = peak()
with ThreadPoolExecutor(5) as pool:
    list(pool.map(lambda _: read_image(Path(sys.argv[1]), 224), range(5)))
print((peak() - before) // 1024)
"""


TURNED = """
import sys
from pathlib import Path
from tellapart.images.opening import open_image
from tellapart.images.reading import read_image
path = Path(sys.argv[1])
peak = lambda: int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
import numpy, PIL.Image
PIL.Image.init()
before = peak()
{how}
print((peak() - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
@pytest.mark.parametrize("how", ["read_image(path, 224)", "open_image(path)"])
def test_a_turned_image_is_held_twice_at_most(tmp_path: Path, how: str) -> None:
    """30 megapixels, too narrow to be reduced: 120 MB decoded, 120 MB turned; not a third copy on top."""
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    Image.new("RGB", (600_000, 50), (9, 80, 200)).save(tmp_path / "a.png", compress_level=1, exif=exif)
    program = TURNED.format(how=how)
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.png")], capture_output=True, check=True)
    assert 200 < int(done.stdout) < 310


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_five_threads_hold_one_large_image(tmp_path: Path) -> None:
    """27 megapixels of 4 bytes: 108 MB for one image, 540 MB for five."""
    Image.new("RGB", (5200, 5200), (9, 80, 200)).save(tmp_path / "a.png", compress_level=1)
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "a.png")], capture_output=True, check=True)
    assert 60 < int(done.stdout) < 220
