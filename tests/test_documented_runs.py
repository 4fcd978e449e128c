"""Every command in README, CONTRIBUTING and docs runs: page by page, in the order of the page, in a small world.

Models are shrunk, stages train for one epoch, and the world has few and small images. All else is as documented.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from documented_commands import ROOT, TEXTS, Command, commands_of
from documented_world import make_world
from small_recipes import shrunk_recipe, small_table
from tellapart.cli.main import main
from tellapart.papers import recipes, tables
from tellapart.papers.recipes import find_recipe

S3 = "needs Ray and S3; tests/search/test_ray_engine.py runs both on a local server"
NOT_RUN = {
    "reproduce convse/heads --data PACK --cache measured --add more-runs --report-only": "adds runs that a command "
    "above it makes on a GPU; tests/reproduce/test_runner.py adds those of a cache",
    "index --engine ray": "names an option; tests/search/test_ray_engine.py runs it where Ray is installed",
    "index /mnt/photos --out s3://bucket/photos.index --engine ray --workers 32 --captioner none": S3,
    "index s3://bucket/photos --out s3://bucket/photos.index --engine ray --workers 32 --captioner none": S3,
    "extract packs/photos --kind vector,regions --regions-from facebook/detr-resnet-50": "downloads a detector; "
    "tests/features/test_detectors.py runs a saved one",
    "evaluate … --evaluation grounding": "names an option; docs/papers/grounded-captioning.md runs the evaluation",
    "evaluate --cxc": "names an option; needs the ratings of Crisscrossed Captions",
    "evaluate RUN --data PACK --cxc sits_test.csv": "needs Crisscrossed Captions; tests/evaluation/test_retrieval.py",
    "join IMAGES CORPUS": "names a verb; the commands above it on the page run it",
    "train RUN": "names a verb; the commands below it on the page run it",
    "annotate PACK": "names a verb; every page of a paper runs it with its options",
    "train vse++ --data pack --out runs/soft --set base.objective.contrast.loss=soft-hinge": "an example's loss; "
    "tests/test_contributing.py adds it",
    "evaluate runs/find --data pack --evaluation mean-reciprocal-rank": "an example's metric; "
    "tests/test_contributing.py adds it",
    "train vse++ --data pack --out runs/mrr --set base.evaluation=mean-reciprocal-rank base.monitor=t2i_mrr": "an "
    "example's metric; tests/test_contributing.py adds it",
}
"""Commands that cannot run here, and why. They are parsed in tests/test_documented_commands.py."""
RESULTS = "docs/results.md"
"""Its tables train for hours: tests/reproduce/test_every_table.py trains all rows of all tables for a step or two."""
PAGES = [page for page in TEXTS if str(page.relative_to(ROOT)) != RESULTS and any(commands_of(page))]
FILLED_IN = {
    "PACK": "pack", "RUN": "runs/find", "NAME": "vse++", "SOURCE": "photos", "IMAGES": "packs/flickr8k",
    "CORPUS": "packs/sentences", "COCO": "packs/coco", "cuda": "cpu",
}  # fmt: skip
FEW_PHOTOS = {"photos/": "few", "~/Photos": "Photos", "~/Photos/2019": "Photos/2019"}
"""For caption, index and search, which run the bundled models."""


def command_line(command: Command) -> str:
    return " ".join(command.words)


def shortened(words: tuple[str, ...]) -> list[str]:
    """The words with names for placeholders, and with fewer epochs, scenes, rows and photos."""
    verb, *rest = (FILLED_IN.get(word, word) for word in words)
    if verb in ("caption", "index", "search"):
        rest = [FEW_PHOTOS.get(word, word) for word in rest]
    if verb == "prepare" and rest[0] == "scenes":
        rest += ["--scene-count", "12", "--scene-size", "64"]
    if verb == "reproduce" and rest[0] in tables.TABLES:
        rest += ["--seeds", "1", "--rows", tables.TABLES[rest[0]].rows[0].name]
    if verb == "train":
        rest = [word for word in rest if word != "--compile"]  # a minute and a half on a CPU
        rest += [] if "--set" in rest else ["--set"]
        for stage in find_recipe(rest[0]).stages:
            rest += [f"{stage.name}.epochs=1"] + [f"{stage.name}.sampling.steps=2"] * bool(stage.sampling.steps)
    return [verb, *rest]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The small world, with recipes and tables over small models while this file runs."""
    import uvicorn

    folder = tmp_path_factory.mktemp("documented") / "world"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name, recipe in recipes.RECIPES.items():
            if "-from-coco" not in name:  # those start from the bundled models
                patch.setitem(recipes.RECIPES, name, shrunk_recipe(recipe))
        for name, table in tables.TABLES.items():
            patch.setitem(tables.TABLES, name, small_table(table))
        patch.setattr(uvicorn.Server, "run", lambda server, sockets=None: None)  # a server would never end
        patch.chdir(folder)
        make_world(folder)
        yield folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run(
    page: Path, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(world, tmp_path / "world")
    monkeypatch.chdir(tmp_path / "world")
    Path("measured").symlink_to(ROOT / "measured")  # whose judges a page uses
    for command in commands_of(page):
        if command_line(command) in NOT_RUN:
            continue
        words = shortened(command.words)
        if "--out" in words and words[0] != "index":  # the reader of a page starts without its results
            made = Path(words[words.index("--out") + 1])
            shutil.rmtree(made) if made.is_dir() else made.unlink(missing_ok=True)
        assert main(words) == 0, f"{command.place}: {' '.join(words)}\n{capsys.readouterr().err}"


def test_the_list_of_exceptions_is_needed() -> None:
    """A command that has gone from the pages goes from the list, too."""
    written = {command_line(command) for page in TEXTS for command in commands_of(page)}
    assert set(NOT_RUN) <= written
