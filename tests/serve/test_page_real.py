"""The page with real photos and the bundled models, and the screenshots of the documentation.

`TELLAPART_SCREENSHOTS=docs pytest tests/serve/test_page_real.py` writes docs/serve*.png.
"""

import io
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from page_in_browser import Page, drawn, opened, served
from tellapart.cli.index import IndexOptions, index
from tellapart.cli.samples import EVERYDAY, OTHERS, sample_photos
from tellapart.runs.bundled import NAMES, is_bundled
from tellapart.serve.server import Server

DESKTOP, PHONE = (1100, 800), (390, 844)
COLOURS = 256
"""In a screenshot: few enough for a small file, and enough for photos."""


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sample photos of scikit-image, captioned and indexed by the bundled models."""
    pytest.importorskip("skimage", reason="needs scikit-image's sample photos")
    if not all(is_bundled(name) for name in NAMES):
        pytest.skip("no runs come with this installation")
    folder = tmp_path_factory.mktemp("real")
    (folder / "Photos").mkdir()
    names = [*EVERYDAY, *(OTHERS if "TELLAPART_SCREENSHOTS" in os.environ else [])]
    for days, photo in enumerate(sample_photos(names)):
        copy = shutil.copy(photo, folder / "Photos")
        os.utime(copy, (1.7e9 - 86_400 * days,) * 2)  # the everyday ones are the newest
    index(IndexOptions((folder / "Photos",), str(folder / "index"), progress=False))
    return folder


@pytest.fixture(scope="module")
def real_server(photos: Path) -> Iterator[Server]:
    with served(opened(photos / "index")) as running:
        yield running


def test_real_photos(page: Page, real_server: Server, photos: Path) -> None:
    page.open(real_server, "query=a+cup+of+coffee+on+a+table")
    assert "cup" in page.text("#results li .text")  # the best comes first
    page.drop(photos / "Photos" / "chelsea.png")
    noun = page.until("#plain .noun")
    assert "cat" in page.text("#plain")
    page.run("arguments[0].focus()", noun)
    page.until("#attention .active")


@pytest.mark.skipif("TELLAPART_SCREENSHOTS" not in os.environ, reason="set TELLAPART_SCREENSHOTS to a folder")
@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_screenshots(page: Page, real_server: Server, photos: Path, screen: tuple[int, int], dark: bool) -> None:
    folder = Path(os.environ["TELLAPART_SCREENSHOTS"])
    ending = ("-phone" if screen == PHONE else "") + ("-dark" if dark else "") + ".png"
    page.show_as(*screen, dark)
    page.open(real_server)
    if dark == (screen == PHONE):  # of each of the other views, one light and one dark screenshot
        page.until("#about", lambda element: element.text)
        save(page, folder / f"serve-newest{ending}")

    page.drop(photos / "Photos" / ("motorcycle_left.png" if dark else "chelsea.png"))
    noun = page.until("#plain .noun")
    page.until("#similar img", drawn)
    page.run("arguments[0].focus({preventScroll: true})", noun)
    page.run("document.getElementById('description').scrollIntoView()")
    save(page, folder / f"serve{ending}")

    if dark != (screen == PHONE):
        page.open(real_server, "query=a+cup+of+coffee+on+a+table")
        page.one("#results button").click()
        page.until("#large", drawn)
        save(page, folder / f"serve-photo{ending}")


def save(page: Page, file: Path) -> None:
    """Save what the browser shows, with few colours, so that the file is small."""
    page.wait(lambda: page.run("return [...document.images].every((one) => one.complete || one.loading === 'lazy')"))
    time.sleep(0.5)  # the fading of the attention
    with Image.open(io.BytesIO(page.browser.get_screenshot_as_png())) as shot:
        assert len(shot.getcolors(shot.width * shot.height) or ()) > 100, f"{file}: the page is empty"
        shot.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    assert file.stat().st_size < 300_000
    assert file.stat().st_size < 300_000
