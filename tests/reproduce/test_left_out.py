"""Rows train what their models rest on, and no more; what rows share is still trained once."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file

from small_recipes import small_recipe
from tellapart.data.pack import Pack
from tellapart.reproduce.budget import CostModel
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.jobs import Plan, pending_jobs
from tellapart.reproduce.plan import plan
from tellapart.reproduce.runner import run_tables
from tellapart.reproduce.settings import ReproduceSettings
from tellapart.reproduce.table import RSUM, Row, Table
from tellapart.runs.recipe import Recipe

TABLE = Table(name="test/chains", paper="none", title="stages in a row", rows=(), columns=(RSUM,), seeds=1)


def chain(name: str, *starts: str) -> Recipe:
    """Stages a, b, c, … of one small matcher, each from its start stage."""
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
        chain("first", "fresh"),
        chain("from previous", "fresh", "previous", "previous"),
        replace(
            chain("from previous, longer", "fresh", "previous", "previous"),
            stages=(
                *chain("", "fresh", "previous").stages,
                replace(chain("", "fresh", "previous", "previous").stages[-1], epochs=2),
            ),
        ),
        replace(
            chain("longer, judged by a", "fresh", "fresh", "fresh", "previous"),
            stages=(
                *chain("", "fresh", "fresh", "fresh").stages,
                replace(chain("", "fresh", "fresh", "fresh", "previous").stages[-1], also_validated_by=("a",)),
            ),
        ),
    )
}


def spent(run: Path) -> float:
    return float(json.loads((run / "seconds.json").read_text())["training"])


def stages_trained(planned: Plan) -> dict[str, str]:
    """Which stages each job trains itself, by recipe name and number of stages."""
    return {
        f"{job.recipe.name} {len(job.recipe.stages)}": "".join("abcd"[index] for index in job.trained)
        for job in planned.jobs
    }


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (("alone",), {"alone 3": "c"}),
        (("from a",), {"from a 3": "ac"}),
        (("alone", "from a"), {"alone 3": "c", "from a 3": "ac"}),
        (("alone", "longer"), {"alone 3": "c", "longer 4": "d"}),
        (("longer", "longer, judged by a"), {"longer 3": "ac", "longer 4": "d", "longer, judged by a 4": "d"}),
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
    table = replace(TABLE, rows=tuple(Row(name, CHAINS[name]) for name in rows))
    assert stages_trained(plan([table], ReproduceSettings(pack, tmp_path, seeds=1, share=1.0))) == expected


def test_leaving_out_changes_nothing_and_is_made_up_for(pack: Path, tmp_path: Path) -> None:
    """A row is run by itself, then one that begins with it and wants more of it than it has."""
    table = replace(TABLE, rows=(Row("alone", CHAINS["alone"]), Row("longer", CHAINS["longer, judged by a"])))
    run_tables([table.only(("alone",))], ReproduceSettings(pack, cache=tmp_path / "by turns", keep=True))
    (result,) = (tmp_path / "by turns" / "results").glob("*/result.json")
    before, seconds = result.read_text(), spent(tmp_path / "by turns" / "runs" / result.parent.name)
    planned = plan([table], ReproduceSettings(pack, tmp_path / "by turns", seeds=1, share=1.0))
    assert len(pending_jobs(planned, Cache(tmp_path / "by turns"))) == 2
    assert stages_trained(planned) == {"alone 3": "a", "longer, judged by a 4": "d"}
    later = run_tables([table], ReproduceSettings(pack, cache=tmp_path / "by turns", keep=True))
    assert len(later.done) == 2 and not later.failed, "the first is made up for, the second continues from it"
    assert result.read_text() == before
    assert spent(tmp_path / "by turns" / "runs" / result.parent.name) > seconds
    at_once = run_tables([table], ReproduceSettings(pack, cache=tmp_path / "at once", keep=True))
    assert len(at_once.done) == 2 and not at_once.failed
    held = sorted(path.relative_to(tmp_path / "at once") for path in (tmp_path / "at once").rglob("*.safetensors"))
    assert {path.stem for path in held} == {"a", "c", "d", "model"}
    for path in held:
        ours, theirs = load_file(tmp_path / "at once" / path), load_file(tmp_path / "by turns" / path)
        assert all(bool((ours[name] == theirs[name]).all()) for name in theirs)


def test_the_longest_beginning_is_taken(pack: Path, tmp_path: Path) -> None:
    """A row of the first stage alone is at hand, but two others have more in common than that."""
    rows = ("first", "from previous", "from previous, longer")
    table = replace(TABLE, rows=tuple(Row(name, CHAINS[name]) for name in rows))
    planned = stages_trained(plan([table], ReproduceSettings(pack, tmp_path, seeds=1, share=1.0)))
    assert planned == {
        "first 1": "a",
        "from previous 2": "b",
        "from previous 3": "c",
        "from previous, longer 3": "c",
    }


def test_only_what_is_trained_is_priced(pack: Path, tmp_path: Path) -> None:
    table = replace(TABLE, rows=(Row("alone", CHAINS["alone"]), Row("longer", CHAINS["longer"])))
    prices = CostModel(Pack(pack), "cpu")
    for job in plan([table], ReproduceSettings(pack, tmp_path, seeds=1, share=1.0)).jobs:
        assert prices.seconds(job) > 0
    assert len(prices.known) == 2, "c of the one, d of the other"
