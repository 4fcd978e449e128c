"""Rows of tables that are trained end to end on the pixels stored in a pack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pixel_world import SIDE, TINY, add_tiny_backbone, draw_images
from small_recipes import shrunk_recipe, small_pack
from tellapart.data.pack import Pack
from tellapart.data.store_pixels import store_pixels
from tellapart.papers.recipes import RECIPES
from tellapart.papers.rows import table_row
from tellapart.reproduce.budget import CostModel
from tellapart.reproduce.plan import plan
from tellapart.reproduce.row_recipes import row_recipe
from tellapart.reproduce.runner import run_tables
from tellapart.reproduce.settings import ReproduceSettings
from tellapart.reproduce.table import RSUM, Row, Table
from tellapart.runs.on_pixels import on_pixels

TUNED = (f"base.vision.backbone={TINY}", "base.sampling.steps=2", "base.epochs=1")


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pack:
    add_tiny_backbone(monkeypatch)
    pack = small_pack(tmp_path / "pack")
    draw_images(pack)
    store_pixels(pack, SIDE)
    for image in pack.images:
        (pack.folder / image.file).unlink()
    return pack


def test_a_row_trains_its_backbone_on_stored_pixels(pack: Pack, tmp_path: Path) -> None:
    plain = shrunk_recipe(RECIPES["vse++"])
    rows = (Row("by recipe", on_pixels(plain), TUNED), Row("by a field", plain, TUNED))
    table = Table("test/pixels", "none", "end to end", rows, (RSUM,), seeds=1)
    settings = ReproduceSettings(pack.folder, cache=tmp_path / "cache")
    planned = plan([table], settings)
    assert not planned.skipped and all(job.features is None for job in planned.jobs)
    assert CostModel(pack, "cpu").seconds(planned.jobs[0]) > 0
    outcome = run_tables([table], settings)
    assert not outcome.failed and len(outcome.done) == len(planned.jobs)
    result = settings.open_cache().result(planned.jobs[0].key)
    assert result is not None and result.values["retrieval"]["rsum"] >= 0


def test_rows_name_recipes_with_the_suffix() -> None:
    row = table_row("VSE++ end to end", "vse++-pixels", ("base.vision.least_area=0.5",))
    assert row_recipe(row).stages[0].sampling.cut == 0.5
    assert row_recipe(row) != row_recipe(replace(row, overrides=()))
