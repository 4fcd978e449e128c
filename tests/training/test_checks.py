"""A recipe that cannot be trained is refused before its run folder is made."""

from pathlib import Path

import pytest

from tellapart.errors import InputError
from tellapart.recipes import RECIPES, find_recipe
from tellapart.training.checks import check_recipe
from tellapart.training.train import TrainSettings, train_recipe


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("optimiser.kind=adan", "base.optimiser.kind=adan: there is no such thing; choose among adam"),
        ("schedule.kind=stairs", "choose among constant, step"),
        ("precision=float8", "choose among float32, bfloat16"),
        ("evaluation=smell", "choose among loss, "),
        ("average.kind=mean", "choose among epoch, ema"),
        ("keep=all", "choose among best, last"),
        ("epochs=0", "base.epochs=0: this must be at least 1"),
        ("sampling.batch=0", "at least 1"),
        ("sampling.split=trian", "nothing in the split 'trian'; it has "),
        ("validation_split=dev", "--set base.validation_split=SPLIT"),
    ],
)
def test_mistakes_leave_no_run_behind(setting: str, said: str, tiny_pack: Path, tmp_path: Path) -> None:
    settings = TrainSettings(data=tiny_pack, out=tmp_path / "run", set=(f"base.{setting}",), quiet=True)
    with pytest.raises(InputError, match=said):
        train_recipe(find_recipe("vse++"), settings)
    assert not (tmp_path / "run").exists()


def test_every_recipe_of_the_house_passes() -> None:
    class Splits:
        """A pack with every split a recipe may name."""

        folder = Path("pack")
        pictures = ()
        captions = tuple(type("Row", (), {"split": name}) for name in ("train", "val", "test", "corpus", "restval"))

    for name in RECIPES:
        check_recipe(find_recipe(name), Splits())  # type: ignore[arg-type]


def test_a_model_of_features_without_features(tiny_pack: Path, tmp_path: Path) -> None:
    settings = TrainSettings(data=tiny_pack, out=tmp_path / "run", set=("features=none",), quiet=True)
    with pytest.raises(InputError, match="reads features, but the recipe has none"):
        train_recipe(find_recipe("neuraltalk2"), settings)


def test_a_device_that_is_not_there(tiny_pack: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="device 'nowhere' cannot be used"):
        train_recipe(find_recipe("vse++"), TrainSettings(data=tiny_pack, out=tmp_path / "run", device="nowhere"))
