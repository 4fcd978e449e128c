"""Every table there is, end to end on the built-in scenes: planned, trained for a step or two per stage, measured,
judged and reported. All rows run; only widths are cut down, those that a row itself asks for by the same factor."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from scenes_packs import paired_scenes, unpaired_scenes
from small_recipes import small_recipe, small_table
from stand_in_models import use_models
from tellapart.data.pack import Pack
from tellapart.models.matchers.scan import SCAN
from tellapart.papers.grounded_captioning.tables import KEPT_TO
from tellapart.papers.tables import TABLES
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.fill import Filled, data_for, fill
from tellapart.reproduce.measure_derived import measure_derived
from tellapart.reproduce.report import write_reports
from tellapart.reproduce.results_page import write_results
from tellapart.reproduce.row_recipes import row_recipe
from tellapart.reproduce.runner import run_tables
from tellapart.reproduce.settings import ReproduceSettings
from tellapart.reproduce.table import Column, Row, Table
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

SHARE = 0.001
CUT = 32
"""Divides the widths that rows ask for, so that a row stays wider than its neighbour."""
OPTIONAL = {"METEOR", "M", "SPICE", "S"}
"""Columns whose tables or programs may be absent."""
TOO_FEW = {"top-5", "top-50", "top-500"}
"""Four test images have no fifth place."""


def small_override(setting: str) -> str:
    """`xe.model.hidden=1024` -> `xe.model.hidden=32`; everything else as it is."""
    field, _, value = setting.partition("=")
    return f"{field}={int(value) // CUT}" if ".model." in field and value.isdigit() and int(value) >= CUT else setting


def narrow_table(table: Table) -> Table:
    rows = (dataclasses.replace(row, overrides=tuple(map(small_override, row.overrides))) for row in table.rows)
    return small_table(dataclasses.replace(table, rows=tuple(rows)))


SMALL = {name: narrow_table(table) for name, table in TABLES.items()}
RETRIEVAL = [
    table for table in SMALL.values() if table.name.split("/")[0] in ("convse", "ltd", "find") and not table.pack_names
]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """For models of a few numbers, threads that wait for each other cost more than the arithmetic."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The scenes with their captions, and the same images with other scenes' sentences."""
    folder = tmp_path_factory.mktemp("scenes")
    paired = paired_scenes(folder)
    return paired, unpaired_scenes(paired, folder)


@pytest.fixture(autouse=True)
def package(
    request: pytest.FixtureRequest,
    scenes: tuple[Path, Path],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Runs that come with the package, of the scenes' words and of the shrunk models; older tables begin with older
    ones."""
    shown = getattr(request.node, "callspec", None)
    table = None if shown is None else shown.params.get("table")
    now = table is not None and table.name.startswith("strong-start/")
    folder = tmp_path_factory.getbasetemp() / ("models-now" if now else "models")
    older = (("captioner", "photo-captioner-adaptive"), ("matcher", "photo-matcher-gru"))
    for name, of_tables in (("captioner", "photo-captioner"), ("matcher", "photo-matcher")) if now else older:
        if not (folder / name).is_dir():
            recipe = small_recipe(of_tables)
            first = dataclasses.replace(recipe.stages[0], epochs=1)
            settings = TrainSettings(scenes[0], folder / name)
            train_recipe(dataclasses.replace(recipe, stages=(first,)), settings)
    use_models(folder, monkeypatch)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tables, so that rows they share are trained once."""
    return tmp_path_factory.mktemp("cache")


def filled_table(table: Table, scenes: tuple[Path, Path], cache: Path) -> Filled:
    pack = Pack(scenes[table.name.startswith("r2m/")])
    said: list[str] = []
    settings = ReproduceSettings(pack.folder, cache, seeds=1, share=SHARE)
    outcome = run_tables([table], settings, said.append)
    assert not outcome.failed and not outcome.left
    assert not [line for line in said if line.startswith("skipped")]
    measure_derived([table], Cache(cache), pack, said.append)
    return fill(table, Cache(cache), data_for(table, pack, settings))


@pytest.mark.parametrize("table", SMALL.values(), ids=lambda table: table.name)
def test_runs_and_reports(table: Table, scenes: tuple[Path, Path], cache: Path, tmp_path: Path) -> None:
    filled = filled_table(table, scenes, cache)
    assert not filled.missing and len(filled.claims) == len(table.claims)
    for row in table.rows:
        for column in expected_columns(table, row):
            cell = filled.cells[row.name, column.name]
            assert np.isfinite(cell.estimate().value), (row.name, column.name)
            assert cell.draws or not column.measure.endswith("text-metrics")
    held = {column for _, column in filled.cells}
    assert {column.name for column in table.columns} - OPTIONAL - TOO_FEW <= held
    paths = {path.suffix: path for path in write_reports(filled, tmp_path)}
    plain = json.loads(paths[".json"].read_text())
    assert plain["data"]["share_of_epochs"] == SHARE and plain["data"]["pack"].startswith("scenes")
    assert {claim["verdict"] for claim in plain["claims"]} <= {"held", "not held", "undecided"}
    for kind in (".md", ".html"):
        text = paths[kind].read_text()
        assert "SHORTENED" in text and table.rows[0].name.replace(">", "&gt;") in text
    assert (".svg" in paths) == bool(table.curves or table.sweep)
    assert ".svg" not in paths or "<svg" in paths[".html"].read_text()


def expected_columns(table: Table, row: Row) -> list[Column]:
    """Columns that must hold a figure: all that can be measured of this row on four images."""
    unmeasured = OPTIONAL | TOO_FEW
    stages = row_recipe(row).stages
    if not stages:
        unmeasured |= {"seconds", "parameters"}
    elif not isinstance(stages[-1].model, SCAN):
        unmeasured |= {column.name for column in KEPT_TO}
    # A row's log has only the values of that loss.
    return [column for column in table.columns if column.name not in unmeasured and column.measure != "log"]


def test_results_page_holds_every_table(scenes: tuple[Path, Path], cache: Path, tmp_path: Path) -> None:
    for table in RETRIEVAL:
        filled_table(table, scenes, cache)
    path = tmp_path / "docs" / "results.md"
    names = write_results(RETRIEVAL, Cache(cache), path)
    assert set(names) == {table.name for table in RETRIEVAL}
    text = path.read_text()
    assert all(f"## {table.name}" in text for table in RETRIEVAL)
    assert text.index("## Tally") < text.index(f"## {RETRIEVAL[0].name}")
    assert (path.parent / "figures" / "ltd-figure3.svg").is_file() and "figures/ltd-figure3.svg" in text


def test_results_leave_out_what_stands_elsewhere_and_packs_that_do_not_suit(
    scenes: tuple[Path, Path], cache: Path, tmp_path: Path
) -> None:
    """Of two tables with a common row, the one that has nothing else to show stays out."""
    whole, part = SMALL["find/scan"], SMALL["find/scan"]
    filled_table(whole, scenes, cache)
    part = dataclasses.replace(
        part,
        name="find/part",
        rows=(part.rows[0], dataclasses.replace(part.rows[1], overrides=("seed=9", "scan.epochs=77"))),
    )
    other = dataclasses.replace(whole, name="find/other", pack_names=("1 per image",))
    names = write_results([whole, part, other], Cache(cache), tmp_path / "results.md")
    assert names == ["find/scan"]
    # The claims of all three are counted: those of the first, and of the others as not run.
    assert f"| **all** |  | {3 * len(whole.claims)} |" in (tmp_path / "results.md").read_text()


def test_a_table_for_packs_of_a_name_takes_them_from_the_others(
    scenes: tuple[Path, Path], cache: Path, tmp_path: Path
) -> None:
    """The same rows on two data sets: each section once, under the table that is made for the pack."""
    everywhere = SMALL["find/scan"]
    filled_table(everywhere, scenes, cache)
    own = dataclasses.replace(everywhere, name="find/scan/scenes", pack_names=("scenes",))
    text = tmp_path / "results.md"
    assert write_results([everywhere, own], Cache(cache), text) == ["find/scan/scenes"]
    assert "| find/scan | no run |" in text.read_text()
    for_captions = dataclasses.replace(own, pack_names=("coco",))
    assert write_results([everywhere, for_captions], Cache(cache), text) == ["find/scan"]
