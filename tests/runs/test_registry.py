"""Fields of a recipe changed by text, as `--set` gives them: every field can be set, and mistakes are explained."""

import pytest

from tellapart.core.errors import InputError
from tellapart.models.matchers.vse import VSE
from tellapart.papers.recipes import find_recipe
from tellapart.runs.overrides import override
from tellapart.runs.recipe import Average
from tellapart.runs.registry import recipe_from_plain, to_plain


def test_an_optional_part_starts_from_its_defaults() -> None:
    recipe = find_recipe("vse++")
    assert recipe.stages[0].average is None
    assert override(recipe, ["base.average.start=0.5"]).stages[0].average == Average(start=0.5)
    assert override(recipe, ['base.average={"kind": "ema"}']).stages[0].average == Average("ema")
    assert override(recipe, ["base.average.start=0.5", "base.average=none"]) == recipe


def test_whole_models_and_pairs() -> None:
    recipe = override(find_recipe("vse++"), ['base.model={"kind": "vse", "embedding": 16}'])
    assert recipe.stages[0].model == VSE(embedding=16)
    assert override(recipe, ["base.model=vse"]).stages[0].model == VSE()
    recipe = override(recipe, ["base.optimiser.scaled=backbone:0.1,text:2", "base.optimiser.betas=0.5,0.9"])
    assert recipe.stages[0].optimiser.scaled == (("backbone", 0.1), ("text", 2.0))
    assert recipe.stages[0].optimiser.betas == (0.5, 0.9)
    assert recipe_from_plain(to_plain(recipe)) == recipe


def test_earlier_names_and_values_of_fields_can_be_set() -> None:
    recipe = override(find_recipe("vse++"), ["base.optimiser.rate=0.5", "base.sampling.what=pictures"])
    assert recipe == override(find_recipe("vse++"), ["base.optimiser.lr=0.5", "base.sampling.what=images"])
    assert recipe.stages[0].optimiser.lr == 0.5 and recipe.stages[0].sampling.what == "images"


def test_a_recipe_is_read_without_its_objectives() -> None:
    plain = to_plain(find_recipe("vse++"))
    assert recipe_from_plain(plain, objectives=False).stages[0].objective == plain["stages"][0]["objective"]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("base.epochs", "not of the form field=value"),
        ("base.epochs=x", "this field takes int"),
        ("base.sampling.longest=x", "this field takes int or none"),
        ("base.epohcs=3", "Stage has no field 'epohcs'"),
        ("bsae.epochs=3", r"no stage 'bsae'\. Did you mean 'base'\?"),
        ("zz.epochs=3", r"no stage 'zz'\. Its stages are base\."),
        ("base.epoch=3", r"Stage has no field 'epoch'\. Did you mean 'epochs'\?$"),
        ("base.zz=3", r"Stage has no field 'zz'\. Its fields are .*epochs"),
        ("base.optimiser.scaled=backbone", "write it as in backbone:0.1"),
        ("base.optimiser.betas=0.9", "takes 2 values"),
        ("base.model=vsee", "write it as JSON"),
        ("base.model=3", "invalid value; write it as JSON"),
        ('base.model={"kind": "vse", "wide": 1}', "VSE has no field wide"),
        ("base.name.x=3", "str has no field 'x'"),
    ],
)
def test_mistakes(setting: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        override(find_recipe("vse++"), [setting])
