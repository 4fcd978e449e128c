"""Grounded captioning's recipes: what they share, that they survive JSON, and that each runs to its end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from grounded_world import grounded_pack
from tellapart.cli.evaluate import EvaluateOptions, evaluate
from tellapart.papers.grounded_captioning.recipes import PUBLISHED, RECIPES, REWARDS, SUPERVISIONS, TEACHERS
from tellapart.papers.recipes import RECIPES as ALL
from tellapart.runs.overrides import override
from tellapart.runs.recipe import Recipe
from tellapart.runs.registry import recipe_from_plain, to_plain
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

TINY = {"SCAN": {"embedding": 8, "word_width": 8}, "UpDown": {"hidden": 8, "attention": 8}}
TINY["AdaptiveAttention"] = TINY["UpDown"]


def shrunk(recipe: Recipe) -> Recipe:
    """One epoch of two steps per stage, with tiny models of the same kind."""
    stages = []
    for stage in recipe.stages:
        model = stage.model and replace(stage.model, **TINY[type(stage.model).__name__])
        sampling = replace(stage.sampling, batch=2 if stage.sampling.captions_each else 4, steps=2)
        if sampling.captions_each:
            sampling = replace(sampling, captions_each=3)
        stages.append(replace(stage, model=model, epochs=1, sampling=sampling))
    return replace(recipe, stages=tuple(stages))


def test_every_row_of_table_2_has_its_recipe() -> None:
    assert {f"grounded-{key}" for key in PUBLISHED} <= set(ALL)
    assert len(PUBLISHED) == len(SUPERVISIONS) * (1 + len(REWARDS))


def test_rows_begin_alike_so_that_matchers_are_trained_once() -> None:
    for key in PUBLISHED:
        assert ALL[f"grounded-{key}"].stages[:2] == TEACHERS
    first, second = ALL["grounded-pos-scan"], ALL["grounded-pos-scan-cider-scan"]
    assert second.stages[:3] == first.stages
    assert second.stages[3].objective.rewards.matcher == "scan" and second.stages[3].start == "xe"


def test_recipes_survive_json_and_overrides() -> None:
    for recipe in RECIPES:
        assert recipe_from_plain(json.loads(json.dumps(to_plain(recipe)))) == recipe
    changed = override(ALL["grounded-pos-scan"], ("xe.objective.weight=0.2", "xe.objective.loss=kl-teacher-first"))
    assert changed.stages[2].objective.weight == 0.2 and changed.stages[2].objective.teacher == "pos-scan"


NAMES = ("grounded-boxes", "grounded-scan-cider-pos-scan", "up-down-scst", "adaptive-attention-pos-scan", "pos-scan")


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_runs_to_its_end_and_is_judged(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], pretended_replay: None
) -> None:
    """Its steps recorded where they can be."""
    pack = grounded_pack(tmp_path / "pack")
    out = tmp_path / "run"
    train_recipe(shrunk(ALL[name]), TrainSettings(pack.folder, out, replay=True))
    figures = evaluate(EvaluateOptions(out, pack.folder, split="val"))
    capsys.readouterr()
    if name == "pos-scan":
        assert figures["rsum"] > 0
        figures = evaluate(EvaluateOptions(out, pack.folder, split="val", evaluation="grounding"))
        assert 0 <= figures["attention_accuracy"] <= 100
        return
    for key in ("attention_accuracy", "f1_all", "f1_loc", "chair_words", "region_ceiling"):
        assert 0 <= figures[key] <= 100
    table = (out / "evaluation-val-classes.csv").read_text(encoding="utf-8").splitlines()
    assert table[0] == "class,words,said,attention_accuracy,precision_all,recall_all,precision_loc,recall_loc"
    assert table[1].startswith("dog,4,")
