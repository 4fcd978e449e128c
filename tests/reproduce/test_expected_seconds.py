"""How long a job is expected to take, from runs whose times are given."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from small_recipes import small_recipe
from tellapart.reproduce.cache import Cache, Result
from tellapart.reproduce.expected_seconds import UNKNOWN_RATE, TimedRun, expected_seconds, timed_runs
from tellapart.reproduce.jobs import Job
from tellapart.runs.recipe import Recipe

RECIPE = small_recipe("vse++-tuned")
"""Two stages, base and fine-tune."""
NAMES = frozenset(stage.name for stage in RECIPE.stages)
JOB = Job("row, seed 0", RECIPE, "", "vector", "key", measures=("retrieval",), steps=(300, 100), stages=NAMES)


def run(seconds: float, steps: int, recipe: str = RECIPE.name) -> TimedRun:
    return TimedRun(recipe, seconds, steps, seconds / steps if steps else 0.0)


def test_the_median_of_the_same_recipe_scaled_by_steps() -> None:
    """The job takes 400 steps: 10 s for 400 steps stay 10, 40 s for 800 are 20, 90 s for 400 stay 90."""
    runs = [run(10, 400), run(40, 800), run(90, 400), run(9999, 400, "another")]
    assert expected_seconds(JOB, runs) == 20.0
    assert expected_seconds(JOB, [run(10, 0)]) == 10.0, "a run without a log is taken as it is"


def test_a_recipe_without_runs_takes_time_by_its_size() -> None:
    """Half a second per step in the median of all runs, times 400; grids count four times."""
    runs = [run(10, 100, "a"), run(50, 100, "b"), run(300, 100, "c")]
    assert expected_seconds(JOB, runs) == 0.5 * 400
    assert expected_seconds(replace(JOB, recipe=replace(RECIPE, features="grid")), runs) == 0.5 * 1600
    assert expected_seconds(JOB, []) == UNKNOWN_RATE * 400


def test_first_stages_take_time_by_their_size() -> None:
    """No result says how long they take. Results that started from them seem fast, so the slower rate counts."""
    first = replace(JOB, measures=(), stages=frozenset({RECIPE.stages[0].name}))
    fast, slow = run(4, 400), [run(200, 400, name) for name in "ab"]
    assert expected_seconds(first, [fast, *slow]) == 0.5 * 300
    assert expected_seconds(first, [run(400, 400), *slow]) == 1.0 * 300


def test_what_is_only_measured_takes_no_time() -> None:
    assert expected_seconds(replace(JOB, finished=NAMES), [run(10, 400)]) == 0.0


def test_a_recipe_that_trains_nothing_takes_its_own_time() -> None:
    untrained = Recipe(name="nearest", paper="", about="", stages=())
    job = replace(JOB, recipe=untrained, steps=(), stages=frozenset())
    assert expected_seconds(job, [run(7, 0, "nearest"), run(10, 400)]) == 7.0


def store(
    cache: Path, key: str, device: str, fingerprint: str = "own", steps: int = 0, features: str = "vector"
) -> None:
    recipe = {"name": key, "features": features}
    folder = cache / "results" / key
    folder.mkdir(parents=True)
    Result(
        key, "", recipe, 0, fingerprint, pack="", features=None, share=1.0, split="test", seconds=8.0, device=device
    ).write(folder / "result.json")
    if steps:
        rows = [{"stage": "s", "total": total} for total in (1, steps)]
        (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize(
    ("device", "found"), [("cpu", ["cpu-bare", "cpu-other"]), ("cuda:1", ["gpu-bare", "gpu-grid", "gpu-other"])]
)
def test_runs_on_the_same_kind_of_device(device: str, found: list[str], tmp_path: Path) -> None:
    """Another pack's run counts if its log has its steps."""
    for kind, name in (("cpu", "cpu"), ("gpu", "NVIDIA H200, TF32")):
        store(tmp_path, f"{kind}-bare", name)
        store(tmp_path, f"{kind}-other", name, "other", steps=16)
        store(tmp_path, f"{kind}-unknown", name, "other")
    store(tmp_path, "gpu-grid", "NVIDIA H200", steps=16, features="grid")
    runs = {run.recipe: run for run in timed_runs(Cache(tmp_path), device, "own", 1.0)}
    assert sorted(runs) == found
    assert {run.rate for name, run in runs.items() if name.endswith("other")} == {0.5}
    assert "gpu-grid" not in runs or runs["gpu-grid"].rate == 0.125
    without = [run.recipe for run in timed_runs(Cache(tmp_path), device, "own", 0.5)]
    assert not [name for name in without if name.endswith("bare")], "of another share"
