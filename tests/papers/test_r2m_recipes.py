"""R2M's recipes: four stages in order, none of which can see a caption of an image; a small one is trained
through."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tellapart.core.errors import InputError
from tellapart.data.join import CorpusFilter, join_unpaired
from tellapart.inference.caption_generator import open_caption_generator
from tellapart.papers.r2m.recipes import (
    FULL,
    LOSS_ABLATIONS,
    MEMORY_ABLATIONS,
    R2M_ALL_STEPS,
    R2M_CODE,
    R2M_FULL,
    RECIPES,
    UC_GAN,
    UC_GAN_BEFORE,
)
from tellapart.runs.recipe import Recipe
from tellapart.runs.registry import recipe_from_plain, to_plain
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe
from unpaired_packs import corpus_pack, image_pack


def shrunk(recipe: Recipe) -> Recipe:
    """One epoch of two steps per stage, with a tiny model of the same kind."""
    stages = []
    for stage in recipe.stages:
        model = stage.model and replace(stage.model, width=8, key_width=4, value_width=4)
        stages.append(replace(stage, model=model, epochs=1, sampling=replace(stage.sampling, batch=4, steps=2)))
    return replace(recipe, stages=tuple(stages))


def test_the_four_stages_are_the_papers() -> None:
    text, rebuilt, images, last = FULL
    assert [stage.sampling.what for stage in FULL] == ["texts", "texts", "images", "images"]
    assert [stage.epochs * stage.sampling.steps for stage in FULL] == [5000, 6000, 50, 100]
    assert [stage.optimiser.lr for stage in FULL] == [1e-4, 1e-4, 1e-5, 1e-5]
    assert text.objective.reconstruction == 0 and rebuilt.objective.reconstruction == 1
    assert images.objective.reconstruction == 0 and last.objective.reconstruction == 1
    assert images.objective.margin == 0.2 and all(stage.sampling.batch == 256 for stage in FULL)


def test_no_stage_learns_from_pairs_or_is_judged_by_captions() -> None:
    for recipe in RECIPES:
        for stage in recipe.stages:
            assert stage.sampling.what in ("texts", "images") and stage.sampling.split == "train"
            assert stage.evaluation == "loss"


def test_image_stages_are_judged_by_held_out_sentences_too() -> None:
    assert [stage.also_validated_by for stage in FULL] == [(), (), ("words-rebuilt",), ("words-rebuilt",)]
    assert [stage.keep for stage in FULL] == ["best"] * 4
    assert [stage.keep for stage in R2M_ALL_STEPS.stages[2:]] == ["last"] * 2
    assert [stage.epochs for stage in R2M_ALL_STEPS.stages] == [stage.epochs for stage in FULL]


def test_ablations_change_one_thing() -> None:
    changed = [recipe.stages[0].model for recipe in MEMORY_ABLATIONS]
    assert len(set(changed)) == 4 and R2M_FULL.stages[0].model not in changed
    assert [len(recipe.stages) for recipe in LOSS_ABLATIONS] == [1, 2, 3]
    assert all(recipe.stages == FULL[: len(recipe.stages)] for recipe in LOSS_ABLATIONS)


def test_recipes_survive_json() -> None:
    assert all(recipe_from_plain(to_plain(recipe)) == recipe for recipe in RECIPES)


@pytest.mark.parametrize("recipe", [R2M_FULL, R2M_CODE, UC_GAN], ids=lambda recipe: recipe.name)
def test_a_recipe_runs_to_its_end_and_captions(recipe: Recipe, tmp_path: Path, pretended_replay: None) -> None:
    """Its steps recorded where they can be."""
    from tellapart.evaluation.captions import decode
    from tellapart.runs.context import context_for

    filters = CorpusFilter(least_count=1, held_out=0.34)
    pack = join_unpaired(image_pack(tmp_path / "a"), corpus_pack(tmp_path / "b"), tmp_path / "c", filters=filters).pack
    run = train_recipe(shrunk(recipe), TrainSettings(data=pack.folder, out=tmp_path / "run", replay=True))
    said = decode(run.model.eval(), context_for(run, pack), np.arange(8), width=3)
    assert len(said) == 8 and (said.tokens == 2).any(1).all()
    if recipe is not UC_GAN:  # which reads images
        with pytest.raises(InputError, match="concepts that a detector found"):
            open_caption_generator(tmp_path / "run")


def test_uc_gan_is_the_published_one() -> None:
    """An image captioner, begun with pseudo captions; rewards for first mentions; a critic that learns first; weights
    chosen by the rule of R2M; and the captioner before rewards as a row."""
    _, pseudo, rewards = UC_GAN.stages
    assert pseudo.model.image_input and rewards.start == pseudo.name
    assert not rewards.objective.every_mention and rewards.objective.critic_first == 500
    assert rewards.keep == "best" and rewards.also_validated_by == ("words",) and rewards.evaluation == "loss"
    assert UC_GAN_BEFORE.stages == UC_GAN.stages[:2]


def test_v_is_whole_and_its_projection_fitted() -> None:
    for recipe in RECIPES:
        models = [stage.model for stage in recipe.stages if stage.model]
        assert not any(model.vector_dropout for model in models)
    assert FULL[2].objective.image_projection == FULL[3].objective.image_projection == "fitted"
    assert R2M_CODE.stages[2].objective.image_projection == "random"
