"""A recipe that cannot be trained is rejected before its run folder is made."""

from pathlib import Path

import numpy as np
import pytest

from tellapart.cli.evaluate import EvaluateOptions, evaluate
from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.data.pack_types import NO_IMAGE, Caption, PackImage
from tellapart.data.write_pack import write_pack
from tellapart.papers.recipes import RECIPES, find_recipe
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.checks import check_recipe
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe
from tiny_pack import make_tiny_pack


def test_a_negative_seed_leaves_no_run_behind(tiny_pack: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="seed=-1: this must be at least 0"):
        train_recipe(find_recipe("vse++"), TrainSettings(data=tiny_pack, out=tmp_path / "run", set=("seed=-1",)))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("optimiser.kind=adan", "base.optimiser.kind=adan: invalid value; choose one of adam"),
        ("schedule.kind=stairs", "choose one of constant, step"),
        ("precision=float8", "choose one of float32, bfloat16"),
        ("evaluation=smell", "choose one of loss, "),
        ("average.kind=mean", "choose one of epoch, ema"),
        ("keep=all", "choose one of best, last"),
        ("epochs=0", "base.epochs=0: this must be at least 1"),
        ("sampling.batch=0", "at least 1"),
        ("optimiser.lr=-1", "base.optimiser.lr=-1: this must be a number of at least 0"),
        ("optimiser.rate=-1", "base.optimiser.lr=-1"),
        ("optimiser.lr=nan", "base.optimiser.lr=nan"),
        ("clip_norm=-1", "base.clip_norm=-1"),
        ("model.embedding=1000000000", "does not fit into memory; make it smaller"),
        ("sampling.split=trian", "nothing in the split 'trian'; it has "),
        ("validation_split=dev", "base.validation_split: .* has nothing in the split 'dev'"),
        ("also_validated_by=words", "base.also_validated_by=words: not an earlier stage; this is the first"),
    ],
)
def test_mistakes_leave_no_run_behind(setting: str, said: str, tiny_pack: Path, tmp_path: Path) -> None:
    settings = TrainSettings(data=tiny_pack, out=tmp_path / "run", set=(f"base.{setting}",))
    with pytest.raises(InputError, match=said):
        train_recipe(find_recipe("vse++"), settings)
    assert not (tmp_path / "run").exists()


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_a_model_that_cannot_be_made_is_a_sentence(tiny_pack: Path, tmp_path: Path) -> None:
    settings = TrainSettings(data=tiny_pack, out=tmp_path / "run", set=("base.model.embedding=0",))
    with pytest.raises(InputError, match="The model of stage 'base' cannot be built: hidden_size"):
        train_recipe(find_recipe("vse++"), settings)


def plain_pack(
    folder: Path, captioned: tuple[str, ...], bare: tuple[str, ...] = (), unpaired: tuple[str, ...] = ()
) -> Pack:
    """One image with a caption in each of some splits, one without in others, and sentences without images."""
    images = [PackImage(f"p{row}", "", split) for row, split in enumerate((*captioned, *bare))]
    captions = [Caption(row, "a dog", ("a", "dog"), split) for row, split in enumerate(captioned)]
    captions += [Caption(NO_IMAGE, "a dog", ("a", "dog"), split) for split in unpaired]
    return write_pack(folder, "plain", "", images, captions, Vocabulary.from_words(["a", "dog"]), {})


def test_every_recipe_passes(tmp_path: Path) -> None:
    pack = plain_pack(tmp_path, ("train", "val", "test", "restval"), unpaired=("train", "val", "corpus"))
    for name in RECIPES:
        check_recipe(find_recipe(name), pack)


@pytest.mark.parametrize("recipe", ["vse++", "neuraltalk2", "up-down", "up-down-scst", "r2m"])
@pytest.mark.parametrize("split", ["train", "val"])
def test_a_split_without_captions_is_rejected_before_training(recipe: str, split: str, tmp_path: Path) -> None:
    """R2M wants sentences without images instead."""
    other = "val" if split == "train" else "train"
    unpaired = (other,) if recipe == "r2m" else ("train", "val")
    pack = plain_pack(tmp_path, (other,), (split,), unpaired)
    wanted = "sentences without images" if recipe == "r2m" else "captioned images"
    with pytest.raises(InputError, match=f"The split '{split}' of .* has no {wanted}, which this recipe needs"):
        check_recipe(find_recipe(recipe), pack)


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_a_image_without_features_is_named(split: str, tmp_path: Path) -> None:
    """Before training where it is needed; where it is not (test), when it is asked for."""
    pack = make_tiny_pack(tmp_path / "pack")
    row = int(pack.split(split).images[1])
    folder = pack.feature_folder("vector")
    counts = np.ones(len(pack.images), np.int64)
    counts[row] = 0
    (folder / "values.f16").write_bytes((folder / "values.f16").read_bytes()[: -16 * 2])
    np.save(folder / "offsets.npy", np.concatenate([[0], np.cumsum(counts)]))
    settings = TrainSettings(pack.folder, tmp_path / "run", set=("base.epochs=1", "base.sampling.steps=1"))
    if split == "test":
        train_recipe(find_recipe("vse++"), settings)
        with pytest.raises(InputError, match=f"Image row {row} has no features in .*; extract them again"):
            evaluate(EvaluateOptions(tmp_path / "run", pack.folder))
    else:
        with pytest.raises(
            InputError, match=f"1 of the .* in the split '{split}' have no features in .*, p{row} among"
        ):
            train_recipe(find_recipe("vse++"), settings)
        assert not (tmp_path / "run").exists()


def test_a_model_of_features_without_features(tiny_pack: Path, tmp_path: Path) -> None:
    settings = TrainSettings(data=tiny_pack, out=tmp_path / "run", set=("features=none",))
    with pytest.raises(InputError, match="reads features, but the recipe has none"):
        train_recipe(find_recipe("neuraltalk2"), settings)


def test_a_device_that_is_not_there(tiny_pack: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="device 'nowhere' cannot be used"):
        train_recipe(find_recipe("vse++"), TrainSettings(data=tiny_pack, out=tmp_path / "run", device="nowhere"))
