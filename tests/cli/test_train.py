"""`train` says what it did: early stops, the best epoch, where the run is, and what to do next."""

from dataclasses import replace
from pathlib import Path

import pytest

from tellapart.cli.main import main
from tellapart.papers.recipes import find_recipe
from tellapart.runs.run import read_recipe
from tellapart.training.checkpoints import Position
from tellapart.training.few_images import FEW, for_few_images
from tellapart.training.loop import ending

SMALL = ("base.model.embedding=8", "base.model.word_width=8", "base.sampling.batch=8")


def train(pack: Path, out: Path, *words: str, recipe: str = "vse++", small: tuple[str, ...] = SMALL) -> int:
    return main(["train", recipe, "--data", str(pack), "--out", str(out), *words, "--set", *small])


def test_few_images_get_few_epochs(tiny_pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(tiny_pack, tmp_path / "run") == 0
    said = capsys.readouterr().err
    assert "16 training images are few: at most 10 epochs per stage." in said and "--set base.epochs=30." in said
    (stage,) = read_recipe(tmp_path / "run").stages
    assert (stage.epochs, stage.patience) == (10, 3)
    assert f"Saved in {tmp_path / 'run'}. Next:\n  tellapart evaluate {tmp_path / 'run'} --data {tiny_pack}" in said
    assert f"index FOLDER --out INDEX --matcher {tmp_path / 'run'}" in said
    assert train(tiny_pack, tmp_path / "run", "--resume") == 0  # the same shortened recipe


def test_a_number_of_epochs_that_is_given_counts(
    tiny_pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tiny_pack, tmp_path / "run", small=(*SMALL, "base.epochs=12", "base.patience=0")) == 0
    said = capsys.readouterr().err
    assert "are few" not in said and "base 12/12" in said
    assert train(tiny_pack, tmp_path / "all", "--all-epochs", small=(*SMALL, "base.evaluate_every=30")) == 0
    assert read_recipe(tmp_path / "all").stages[0].epochs == 30
    said = capsys.readouterr().err
    assert "are few" not in said and "base: epoch 30 was best (rsum " in said
    # A run that was begun with all epochs is resumed with all of them.
    assert train(tiny_pack, tmp_path / "all", "--resume", small=(*SMALL, "base.evaluate_every=30")) == 0


def test_quiet_says_nothing(tiny_pack: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert train(tiny_pack, tmp_path / "run", "--quiet", small=(*SMALL, "base.epochs=1")) == 0
    assert capfd.readouterr() == ("", "")


def test_many_images_get_the_recipe_as_it_is() -> None:
    recipe = find_recipe("vse++")
    assert for_few_images(recipe, FEW) == recipe == for_few_images(recipe, 0)
    r2m = find_recipe("r2m")
    assert for_few_images(r2m, 10) == r2m, "its epochs are numbers of steps"


def test_how_a_stage_ended() -> None:
    stage = find_recipe("vse++").stages[0]
    at_end = Position(epoch=30, best=412.345, best_epoch=21, stale=9)
    assert ending(stage, at_end) == "base: epoch 21 was best (rsum 412.3); keeps the best epoch"
    early = Position(epoch=9, best=412.345, best_epoch=6, stale=3)
    assert ending(stage, early) == (
        "base: stopped early after epoch 9 of 30, 3 evaluations without a better rsum; "
        "epoch 6 was best (rsum 412.3); keeps the best epoch"
    )
    assert ending(stage, Position(epoch=30, best=1.0)) == "base: keeps the best epoch"
    by_loss = replace(stage, monitor="loss", keep="last")
    assert ending(by_loss, Position(epoch=30, best=-0.5, best_epoch=3)) == (
        "base: epoch 3 was best (loss 0.5); keeps the last epoch"
    )
    assert ending(stage, Position(epoch=30)) == "base: keeps the last epoch"
