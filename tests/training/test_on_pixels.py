"""Recipes trained end to end: every kind of matcher and captioner learns with its backbone, and opens everywhere."""

from __future__ import annotations

import json
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
from tellapart.runs.context import context_for
from tellapart.runs.evaluate import evaluate_run
from tellapart.runs.on_pixels import on_pixels, resolved
from tellapart.runs.overrides import override
from tellapart.runs.recipe import Recipe
from tellapart.runs.registry import recipe_from_plain, to_plain
from tellapart.runs.run import open_run
from tellapart.runs.slim_run import slim_run
from tellapart.training import loop
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
    return vision.network.network.convolution.weight.detach()  # type: ignore[union-attr,return-value,operator]


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
    return load_tiny(True, True).network.convolution.weight.detach()  # type: ignore[union-attr,return-value]


def test_a_group_of_fields_gives_any_recipe_a_backbone(pack: Pack, tmp_path: Path) -> None:
    recipe = short(shrunk_recipe(RECIPES["adaptive-attention-cl"]))
    changed = ("aa.vision.backbone=tiny", "aa.vision.norms=train", "aa.vision.flip=false")
    run = open_run(trained(recipe, pack, tmp_path / "run", set=changed))
    assert run.recipe.features == "none" and run.data["features"] is None
    for stage in run.recipe.stages:  # `cl` continues with the model of `aa`, so it sees as that does
        assert stage.vision == Vision(TINY, features="grid", pixels=SIDE, norms="train", flip=False)
        assert stage.sampling.squash and stage.sampling.pixels == SIDE and not stage.sampling.flip
        assert ("vision", 0.1) in stage.optimiser.scaled
    again = find_recipe(str(run.folder))
    assert resolved(again) == again and recipe_from_plain(to_plain(again)) == again


def test_recipes_with_a_suffix_are_found_and_others_keep_their_meaning() -> None:
    found = find_recipe("vse++-pixels")
    assert found.features == "none" and found.stages[0].vision == Vision(features="vector")
    assert "vision" not in to_plain(find_recipe("vse++"))["stages"][0]
    assert resolved(find_recipe("vse++")) is find_recipe("vse++")
    with pytest.raises(InputError, match="reads no features"):
        on_pixels(found)
    with pytest.raises(InputError, match=r"vision\.norms=batch: invalid value; choose one of frozen, train"):
        resolved(override(found, ("base.vision.norms=batch",)))


def test_kept_streamed_and_stored_images_train_the_same(pack: Pack, tmp_path: Path) -> None:
    recipe = seeing("vse++")
    kept = backbone_weights(trained(recipe, pack, tmp_path / "kept", pixels="device"))
    streamed = backbone_weights(trained(recipe, pack, tmp_path / "streamed", pixels="stream"))
    torch.testing.assert_close(kept, streamed)
    store_pixels(pack, SIDE, quality=100)
    for image in pack.images:
        (pack.folder / image.file).unlink()
    stored = backbone_weights(trained(recipe, Pack(pack.folder), tmp_path / "stored"))
    torch.testing.assert_close(stored, kept, atol=2e-2, rtol=0.2)  # JPEG-like losses
    assert not torch.equal(stored, untrained_weights())


def test_missing_pixels_are_an_error_before_anything_is_written(pack: Pack, tmp_path: Path) -> None:
    store_pixels(pack, SIDE, part_images=12)
    (pack.folder / "pixels" / "00001" / "part.json").unlink()
    lines = (pack.folder / "pictures.jsonl").read_text().splitlines()
    rows = [{**json.loads(line), "file": ""} for line in lines]
    (pack.folder / "pictures.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match="neither stored pixels nor a file"):
        trained(seeing("vse++"), Pack(pack.folder), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_backbone_learns_at_its_own_rate_or_not_at_all(pack: Pack, tmp_path: Path) -> None:
    run = trained(seeing("vse++", replace(TINY_VISION, lr_factor=0.0)), pack, tmp_path / "frozen")
    assert torch.equal(backbone_weights(run), untrained_weights())
    moved = [
        (backbone_weights(trained(seeing("vse++", replace(TINY_VISION, lr_factor=factor)), pack, out)) - start).norm()
        for factor, out in ((0.01, tmp_path / "slow"), (1.0, tmp_path / "fast"))
        for start in (untrained_weights(),)
    ]
    assert 0 < float(moved[0]) < float(moved[1])


def test_batch_norms_are_frozen_by_default(pack: Pack, tmp_path: Path) -> None:
    for norms, changes in (("frozen", False), ("train", True)):
        run = trained(seeing("vse++", replace(TINY_VISION, norms=norms)), pack, tmp_path / norms)
        vision = vision_of(open_run(run).model)
        assert vision is not None
        mean = vision.network.network.norm.running_mean  # type: ignore[union-attr]
        assert bool(mean.abs().sum() > 0) is changes  # type: ignore[union-attr,operator]


def test_an_interrupted_run_resumes_to_the_same_weights(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = on_pixels(short(shrunk_recipe(RECIPES["vse++"]), epochs=2), TINY_VISION)
    whole = trained(recipe, pack, tmp_path / "whole")
    validated = loop.validate_epoch
    calls: list[int] = []

    def stop_at_second(*arguments: object) -> dict[str, float]:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return validated(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(loop, "validate_epoch", stop_at_second)
    with pytest.raises(KeyboardInterrupt):
        trained(recipe, pack, tmp_path / "cut", save_every=0.0)
    monkeypatch.setattr(loop, "validate_epoch", validated)
    cut = trained(recipe, pack, tmp_path / "cut", resume=True)
    torch.testing.assert_close(backbone_weights(whole), backbone_weights(cut))


def test_heads_start_from_a_run_on_frozen_features(pack: Pack, tmp_path: Path) -> None:
    recipe = short(shrunk_recipe(RECIPES["vse++"]))
    frozen = trained(recipe, pack, tmp_path / "frozen", features="vector")
    run = trained(
        on_pixels(recipe, TINY_VISION), pack, tmp_path / "run", start=str(frozen), set=("base.optimiser.lr=1e-12",)
    )
    theirs, ours = open_run(frozen).model.state_dict(), open_run(run).model.state_dict()
    name = next(key for key in theirs if "text" in key and theirs[key].ndim == 2)
    torch.testing.assert_close(ours[name], theirs[name])


def test_runs_open_everywhere_wherever_they_are(pack: Pack, tmp_path: Path) -> None:
    for name in ("vse++", "transformer"):
        trained(seeing(name), pack, tmp_path / "made" / name)
    (tmp_path / "made").rename(tmp_path / "moved")
    matcher, captioner = tmp_path / "moved" / "vse++", tmp_path / "moved" / "transformer"
    files = [pack.image_path(row) for row in range(6)]
    index = ta.open_index(tmp_path / "index", matcher=matcher, captioner=captioner)
    index.update(pack.folder)
    hits = index.search("a red dog", count=3)
    assert len(hits) == 3
    captions = ta.load_captioner(captioner).caption(files[:2], attention=True)
    assert captions[0].attention is not None and captions[0].attention.weights.shape[1] == 4
    found = evaluate_run(matcher, pack.folder, "test")
    assert "rsum" in found.values
    assert "cider" in evaluate_run(captioner, pack.folder, "test").values


def test_photos_are_seen_as_evaluation_sees_them(pack: Pack, tmp_path: Path) -> None:
    run = trained(seeing("vse++", replace(TINY_VISION, norms="train")), pack, tmp_path / "run")
    opened = ta.load_matcher(run)
    context = context_for(opened.run, pack)
    with torch.no_grad():
        expected = opened.run.model.encode_image(context.batches.images(np.arange(6))).vectors  # type: ignore[operator]
    vectors = opened.encode_images([pack.image_path(row) for row in range(6)])
    np.testing.assert_allclose(vectors, expected.numpy(), atol=2e-3)
    for bits in (8, 16):
        slim = ta.load_matcher(slim_run(run, tmp_path / f"slim{bits}", bits))
        np.testing.assert_allclose(slim.encode_images([pack.image_path(0)]), vectors[:1], atol=0.03)
