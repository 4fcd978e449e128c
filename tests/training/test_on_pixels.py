"""Recipes trained end to end: every kind of matcher and captioner learns with its backbone, and opens everywhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import tellapart as ta
from pixel_world import SIDE, TINY, add_tiny_backbone, draw_images, load_tiny
from small_recipes import shrunk_recipe, small_pack
from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.data.store_pixels import store_pixels
from tellapart.models.vision import Vision, vision_of
from tellapart.papers.recipes import RECIPES, find_recipe
from tellapart.runs.evaluate import evaluate_run
from tellapart.runs.on_pixels import on_pixels, resolved
from tellapart.runs.overrides import override
from tellapart.runs.recipe import Recipe
from tellapart.runs.registry import recipe_from_plain, to_plain
from tellapart.runs.run import open_run, slim_run
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

TINY_VISION = Vision(TINY, lr_factor=0.5)


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pack:
    add_tiny_backbone(monkeypatch)
    pack = small_pack(tmp_path / "pack")
    draw_images(pack)
    return pack


def short(recipe: Recipe, epochs: int = 1) -> Recipe:
    """The recipe with few epochs and steps."""
    return replace(
        recipe,
        stages=tuple(
            replace(
                stage,
                epochs=epochs,
                sampling=replace(stage.sampling, batch=8, steps=2),
                schedule=replace(stage.schedule, warmup_steps=0),
            )
            for stage in recipe.stages
        ),
    )


def seeing(name: str, vision: Vision = TINY_VISION) -> Recipe:
    """A recipe of this name, small and short, with the tiny backbone."""
    return on_pixels(short(shrunk_recipe(RECIPES[name])), vision)


def trained(recipe: Recipe, pack: Pack, out: Path, **settings: object) -> Path:
    train_recipe(recipe, TrainSettings(pack.folder, out, **settings))  # type: ignore[arg-type]
    return out


def backbone_weights(run: Path) -> torch.Tensor:
    vision = vision_of(open_run(run).model)
    assert vision is not None
    return vision.network.network.convolution.weight  # type: ignore[union-attr,return-value]


RECIPES_TO_TRY = (
    "vse",
    "vse++",
    "mvn",
    "convse++",
    "ltd-baseline",
    "ltd-baseline-ltd",
    "ltd-baseline-itd",
    "vsrn-ltd",
    "tern",
    "scan-grid",
    "find-best",
    "photo-matcher",
    "neuraltalk2",
    "adaptive-attention-cl",
    "adaptive-attention-il",
    "adaptive-attention-gan",
    "neuraltalk2-cl-adaptive-attention",
    "tell-best",
    "transformer",
    "up-down-scst",
    "photo-captioner",
)


@pytest.mark.parametrize("name", RECIPES_TO_TRY)
def test_any_recipe_learns_with_its_backbone(pack: Pack, tmp_path: Path, name: str) -> None:
    run = trained(seeing(name), pack, tmp_path / "run")
    assert not torch.equal(backbone_weights(run), untrained_weights())


def untrained_weights() -> torch.Tensor:
    return load_tiny(True, True).network.convolution.weight  # type: ignore[union-attr,return-value]
