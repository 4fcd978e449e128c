"""Rows train what their models rest on, and no more; what rows share is still trained once."""

from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file

from small_recipes import small_recipe
from tellapart.data.pack import Pack
from tellapart.reproduce import jobs
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.jobs import Plan, plan
from tellapart.reproduce.runner import run_rows
from tellapart.reproduce.table import RSUM, Row, Table
from tellapart.training.recipe import Recipe

TABLE = Table(name="test/chains", paper="none", title="stages in a row", rows=(), columns=(RSUM,), seeds=1)


def quiet(text: str) -> None:
    pass


def chain(name: str, *starts: str) -> Recipe:
    """Stages a, b, c, … of one small matcher, each from where it is told to start."""
    (stage,) = small_recipe("vse++").stages
    short = replace(stage, epochs=1, sampling=replace(stage.sampling, steps=2), evaluation="loss", monitor="loss")
    stages = tuple(
        replace(short, name=letter, start=start, model=short.model if start == "fresh" else None)
        for letter, start in zip("abcd", starts)
    )
    return Recipe(name, "", "", stages=stages)


CHAINS = {
    recipe.name: recipe
    for recipe in (
        chain("alone", "fresh", "fresh", "fresh"),
        chain("from a", "fresh", "fresh", "a"),
        chain("longer", "fresh", "fresh", "fresh", "previous"),
        replace(
            chain("longer, judged by a", "fresh", "fresh", "fresh", "previous"),
            stages=(
                *chain("", "fresh", "fresh", "fresh").stages,
                replace(chain("", "fresh", "fresh", "fresh", "previous").stages[-1], also_judged_by=("a",)),
            ),
        ),
    )
}


@pytest.fixture
def chains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "find_recipe", CHAINS.__getitem__)


def stages_trained(planned: Plan) -> dict[str, str]:
    """Which stages each job trains itself, by recipe name and number of stages."""
    return {
        f"{job.recipe.name} {len(job.recipe.stages)}": "".join("abcd"[index] for index in job.trained)
        for job in planned.jobs
    }


@pytest.mark.usefixtures("chains")
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (("alone",), {"alone 3": "c"}),
        (("from a",), {"from a 3": "ac"}),
        (("alone", "from a"), {"alone 3": "c", "from a 3": "ac"}),
        (("alone", "longer"), {"alone 3": "c", "longer 4": "d"}),
        (("alone", "longer, judged by a"), {"alone 3": "ac", "longer, judged by a 4": "d"}),
        (
            ("alone", "from a", "longer, judged by a"),
            {"alone 1": "a", "alone 3": "c", "from a 3": "c", "longer, judged by a 4": "d"},
        ),
    ],
)
def test_only_what_is_rested_on_is_trained(
    rows: tuple[str, ...], expected: dict[str, str], pack: Path, tmp_path: Path
) -> None:
    table = replace(TABLE, rows=tuple(Row(name, name) for name in rows))
    assert stages_trained(plan([table], Pack(pack), (), 1, 1.0, Cache(tmp_path))) == expected


@pytest.mark.usefixtures("chains")
def test_leaving_out_changes_nothing_and_is_made_up_for(pack: Path, tmp_path: Path) -> None:
    """A row is run by itself, then one that begins with it and wants more of it than it has."""
    table = replace(TABLE, rows=(Row("alone", "alone"), Row("longer", "longer, judged by a")))
    run_rows([table.only(("alone",))], pack, cache=tmp_path / "by turns", keep=True, tell=quiet)
    later = run_rows([table], pack, cache=tmp_path / "by turns", keep=True, tell=quiet)
    assert len(later.done) == 1 and len(later.cached) == 1 and not later.failed
    at_once = run_rows([table], pack, cache=tmp_path / "at once", keep=True, tell=quiet)
    assert len(at_once.done) == 2 and not at_once.failed
    for run in (tmp_path / "at once" / "runs").iterdir():
        ours, theirs = (load_file(c / run.name / "model.safetensors") for c in (run.parent, tmp_path / "by turns/runs"))
        assert all(bool((ours[name] == theirs[name]).all()) for name in theirs)
