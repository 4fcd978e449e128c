"""The report shows what captioners attend to, side by side, and leaves out runs without attention."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from grounded_world import grounded_pack
from tellapart.core.files import read_json
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.models.captioners.up_down import UpDown
from tellapart.models.matchers.scan import SCAN
from tellapart.papers.recipes import find_recipe
from tellapart.report.attention_section import attention_section
from tellapart.runs.run import Run, describe_run, inputs_for


def made_run(folder: Path, pack: Pack, recipe: str, model: UpDown | SCAN) -> Run:
    described = find_recipe(recipe)
    describe_run(folder, described, pack, FeatureStore(pack.feature_folder("regions")))
    data = read_json(folder / "data.json")
    torch.manual_seed(0)
    built = model.build(inputs_for(pack.vocabulary, data["features"], load_pretrained=False)).eval()
    return Run(folder, described, data, pack.vocabulary, built, described.stages[-1])


def test_runs_side_by_side(tmp_path: Path, monkeypatch: object) -> None:
    pack = grounded_pack(tmp_path / "pack")
    photo = tmp_path / "photo.png"
    Image.fromarray(np.full((30, 60, 3), 128, dtype=np.uint8)).save(photo)
    monkeypatch.setattr(pack, "image_path", lambda row: photo)  # type: ignore[attr-defined]
    tiny = UpDown(hidden=8, attention=8)
    before, after = (made_run(tmp_path / name, pack, "up-down", tiny) for name in ("before", "after"))
    matcher = made_run(tmp_path / "matcher", pack, "pos-scan", SCAN(8, 8, nouns=True))
    section = attention_section([before, matcher, after], pack, "val", examples=2, seed=0)
    assert len(re.findall("<img", section)) == 2
    assert "before: " in section and "after: " in section and "matcher: " not in section
    assert attention_section([matcher], pack, "val", 2, 0) == ""
