"""Runs are made once, begun from what is there, and survive being stopped, moved and broken."""

import json
import multiprocessing
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from small_recipes import small_recipe, small_row
from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.data.sampling import draw_epoch
from tellapart.data.write_pack import write_pack
from tellapart.reproduce import run_job as run_job_module
from tellapart.reproduce import workers
from tellapart.reproduce.cache import Cache, recipe_hash
from tellapart.reproduce.measurement import Measurement
from tellapart.reproduce.plan import plan
from tellapart.reproduce.row_recipes import shortened
from tellapart.reproduce.run_job import add_run, hardware
from tellapart.reproduce.runner import run_plan, run_tables
from tellapart.reproduce.settings import ReproduceSettings
from tellapart.reproduce.table import RSUM, Table
from tellapart.reproduce.workers import Clock, Outcome, WorkerPool, work
from tellapart.runs.overrides import override
from tellapart.runs.recipe import Recipe
from tellapart.runs.run import Run
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

TABLE = Table(
    name="test/table",
    paper="none",
    title="two rows that begin alike",
    rows=(small_row("VSE++", "vse++-tuned"), small_row("ConVSE++", "convse++")),
    columns=(RSUM,),
    seeds=1,
)
SHARE = 0.02


def test_second_time_everything_is_cached(pack: Path, tmp_path: Path) -> None:
    first = run_tables([TABLE], ReproduceSettings(pack, cache=tmp_path, share=SHARE))
    again = run_tables([TABLE], ReproduceSettings(pack, cache=tmp_path, share=SHARE))
    assert len(first.done) == 2 and not first.failed and not first.left
    assert not again.done and len(again.cached) == 2
    assert not list((tmp_path / "runs").iterdir()), "weights are not kept unless asked for"


def run_folders(cache: Path) -> set[str]:
    return {path.name for path in (cache / "runs").iterdir()}


def test_runs_that_were_kept_stay(pack: Path, tmp_path: Path) -> None:
    """Also where a call that keeps nothing measures them again, or begins others with them."""
    run_tables([TABLE.only(("VSE++",))], ReproduceSettings(pack, cache=tmp_path, share=SHARE, keep=True))
    kept = run_folders(tmp_path)
    (stored,) = tmp_path.glob("results/*")
    shutil.rmtree(stored)
    again = run_tables([TABLE], ReproduceSettings(pack, cache=tmp_path, share=SHARE))
    assert len(again.done) == 2 and len(kept) == 1
    assert run_folders(tmp_path) == kept


@pytest.mark.parametrize("keep", [False, True])
def test_runs_left_for_want_of_time(keep: bool, pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call that resumes says whether they stay."""
    with monkeypatch.context() as patch:
        patch.setattr(Clock, "allows", lambda clock, job: not clock.spent)
        first = run_tables([TABLE], ReproduceSettings(pack, cache=tmp_path, share=SHARE))
    assert len(first.done) == len(first.left) == 1 and len(run_folders(tmp_path)) == 1
    run_tables([TABLE], ReproduceSettings(pack, cache=tmp_path, share=SHARE, keep=keep))
    run_tables([TABLE], ReproduceSettings(pack, cache=tmp_path, share=SHARE))
    assert len(run_folders(tmp_path)) == (2 if keep else 0)


def test_other_seed_other_run(pack: Path, tmp_path: Path) -> None:
    run_tables([TABLE], ReproduceSettings(pack, cache=tmp_path, share=SHARE))
    more = run_tables([TABLE], ReproduceSettings(pack, cache=tmp_path, share=SHARE, seeds=2))
    assert len(more.done) == 2 and len(more.cached) == 2


def test_beginning_from_a_base_changes_nothing(pack: Path, tmp_path: Path) -> None:
    """ConVSE++ begins with VSE++'s stages: taken over or trained, the weights are the same to the bit."""
    run_tables([TABLE], ReproduceSettings(pack, cache=tmp_path / "shared", share=SHARE, keep=True))
    alone = TABLE.only(("ConVSE++",))
    run_tables([alone], ReproduceSettings(pack, cache=tmp_path / "alone", share=SHARE, keep=True))
    (key,) = [path.name for path in (tmp_path / "alone" / "runs").iterdir()]
    ours, theirs = (load_file(tmp_path / c / "runs" / key / "model.safetensors") for c in ("shared", "alone"))
    assert all(bool((ours[name] == theirs[name]).all()) for name in theirs)
    logs = [(tmp_path / c / "results" / key / "log.jsonl").read_text() for c in ("shared", "alone")]
    assert logs[0] == logs[1]


def test_shared_first_stages_are_trained_once(pack: Path, tmp_path: Path) -> None:
    table = replace(TABLE, rows=(small_row("a", "convse"), small_row("b", "convse++")))
    planned = plan([table], ReproduceSettings(pack, tmp_path, seeds=1, share=1.0))
    helpers = [job for job in planned.jobs if not job.measures]
    assert len(planned.jobs) == 3 and len(helpers) == 1
    assert {job.base for job in planned.jobs if job.measures} == {helpers[0].key}
    # What the helper trains is not expected to be trained, and to take its time, again.
    stages, shared = small_recipe("convse").stages, helpers[0].recipe.stages
    steps = [stage.epochs * len(draw_epoch(Pack(pack), stage.sampling, (0, 0, 0))) for stage in stages]
    assert helpers[0].size == sum(steps[: len(shared)])
    assert all(job.size == sum(steps[len(shared) :]) for job in planned.jobs if job.measures)


def test_first_stages_share_their_own_first_stages(pack: Path, tmp_path: Path) -> None:
    """a and b continue from two stages, c and d from two others; the first of all is the same."""
    longer = ("fine-tune.epochs=16",)
    rows = (
        small_row("a", "convse"),
        small_row("b", "convse++"),
        small_row("c", "convse", longer),
        small_row("d", "convse++", longer),
    )
    planned = plan([replace(TABLE, rows=rows)], ReproduceSettings(pack, tmp_path, seeds=1, share=1.0))
    helpers = [job for job in planned.jobs if not job.measures]
    assert len(planned.jobs) == len(rows) + len(helpers)
    roots = [job for job in planned.jobs if job.base is None]
    assert len(roots) == 1 and roots[0] in helpers
    assert all(job.label.count("first stages of") == 1 for job in helpers)


@pytest.mark.slow
def test_first_stages_of_first_stages_change_nothing(pack: Path, tmp_path: Path) -> None:
    longer = ("fine-tune.sampling.batch=3",)
    rows = (
        small_row("a", "convse"),
        small_row("b", "convse++"),
        small_row("c", "convse", longer),
        small_row("d", "convse++", longer),
    )
    table = replace(TABLE, rows=rows)
    together = run_tables([table], ReproduceSettings(pack, cache=tmp_path / "shared", share=SHARE, keep=True))
    assert not together.failed and not together.left
    run_tables([table.only(("d",))], ReproduceSettings(pack, cache=tmp_path / "alone", share=SHARE, keep=True))
    (key,) = [path.name for path in (tmp_path / "alone" / "runs").iterdir()]
    ours, theirs = (load_file(tmp_path / c / "runs" / key / "model.safetensors") for c in ("shared", "alone"))
    assert all(bool((ours[name] == theirs[name]).all()) for name in theirs)


@pytest.mark.slow
def test_two_processes(pack: Path, tmp_path: Path) -> None:
    outcome = run_tables([TABLE], ReproduceSettings(pack, cache=tmp_path, share=SHARE, jobs=2, device="cpu,cpu"))
    assert len(outcome.done) == 2 and not outcome.failed


def test_nothing_is_started_without_time(pack: Path, tmp_path: Path) -> None:
    outcome = run_tables([TABLE], ReproduceSettings(pack, cache=tmp_path, share=SHARE, seconds_limit=0.0))
    assert not outcome.done and len(outcome.left) == 2


def test_a_row_without_its_features_is_left_out_and_named(pack: Path, tmp_path: Path) -> None:
    bare = replace(
        TABLE, rows=(*TABLE.rows[:1], small_row("LTD", "ltd-baseline-ltd", ("warm-up.sampling.columns=none-such",)))
    )
    planned = plan([bare], ReproduceSettings(pack, tmp_path, seeds=1, share=SHARE))
    assert list(planned.skipped) == ["test/table: LTD"] and "none-such" in planned.skipped["test/table: LTD"]
    outcome = run_plan(planned, ReproduceSettings(pack, tmp_path))
    assert len(outcome.done) == 1


def test_a_row_that_wants_mirror_images_is_left_out_without_them(pack: Path, tmp_path: Path) -> None:
    row = TABLE.rows[0]
    flipped = f"{row.recipe.stages[0].name}.sampling.flip=true"
    mirrored = replace(TABLE, rows=(replace(row, name="mirrored", overrides=(flipped,)),))
    planned = plan([mirrored], ReproduceSettings(pack, tmp_path, seeds=1, share=SHARE))
    assert not planned.jobs and "flip=True" in planned.skipped["test/table: mirrored"]


def test_a_pack_without_captions_to_test_on_is_rejected(pack: Path, tmp_path: Path) -> None:
    read = Pack(pack)
    kept = [caption for caption in read.captions if caption.split != "test"]
    write_pack(tmp_path / "bare", "bare", "", read.images, kept, read.vocabulary, {})
    with pytest.raises(InputError, match=r"The split 'test' of .* has no captioned image"):
        run_tables([TABLE], ReproduceSettings(tmp_path / "bare", cache=tmp_path / "cache", share=SHARE))


def test_a_broken_run_does_not_stop_the_others(pack: Path, tmp_path: Path) -> None:
    broken = replace(
        TABLE, rows=(small_row("bad", "vse++", ("base.optimiser.kind=none-such",)), small_row("good", "vse"))
    )
    outcome = run_tables([broken], ReproduceSettings(pack, cache=tmp_path, share=SHARE))
    assert len(outcome.done) == 1 and "none-such" in next(iter(outcome.failed.values()))


def test_a_worker_ends_where_a_job_broke(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with the input leaves the process sound; what else was raised may not."""
    troubles = iter([InputError("not this one"), RuntimeError("an illegal memory access was encountered")])

    def run_job(*_: object) -> float:
        raise next(troubles)

    monkeypatch.setattr(workers, "run_job", run_job)
    ours, theirs = multiprocessing.Pipe()
    for _ in range(3):
        ours.send(("a job", True))
    work(theirs, ReproduceSettings(pack, tmp_path), "cpu", torch.get_num_threads())
    assert ours.recv() == (0.0, "not this one", False)
    _, trouble, broken = ours.recv()
    assert broken and "illegal memory access" in trouble and not ours.poll()


def pool_of_one(pack: Path, cache: Path, measures: tuple[str, ...]) -> WorkerPool:
    """Has two jobs to do; the one that comes first has these measures."""
    table = replace(TABLE, rows=(small_row("a", "vse"), small_row("b", "vse++")))
    first, *others = plan([table], ReproduceSettings(pack, cache, seeds=1, share=SHARE)).jobs
    pending = {job.key: job for job in (replace(first, measures=measures, needed_later=True), *others)}
    return WorkerPool(pending, ReproduceSettings(pack, cache), Clock(None), Outcome())


@pytest.mark.slow
def test_a_worker_whose_job_broke_is_replaced(pack: Path, tmp_path: Path) -> None:
    pool = pool_of_one(pack, tmp_path, ("none-such",))
    pool.run()
    (failed,) = pool.outcome.failed.values()
    assert "KeyError: 'none-such'" in failed
    assert len(pool.outcome.done) == 1 and not pool.outcome.left
    assert list(pool.numbers.values()) == [0]


@pytest.mark.slow
def test_workers_that_end_before_they_begin(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "work", sys.exit)  # which takes one argument
    pool = pool_of_one(pack, tmp_path, ())
    pool.run()
    assert list(pool.outcome.failed.values()) == ["its process ended with exit code 1"] * 2 and not pool.outcome.left


def trained(recipe: Recipe, pack: Path, out: Path) -> Path:
    train_recipe(recipe, TrainSettings(pack, out))
    return out


def test_a_run_made_elsewhere_is_the_rows_own(pack: Path, tmp_path: Path) -> None:
    """`tellapart train` of a row's recipe, added, is found as that row with its seed."""
    table = replace(TABLE, rows=(small_row("VSE", "vse", ("base.epochs=1", "base.schedule.every=1")),))
    recipe = override(small_recipe("vse"), ["base.epochs=1", "base.schedule.every=1", "seed=0"])
    folder = trained(recipe, pack, tmp_path / "elsewhere")
    add_run(folder, ReproduceSettings(pack, tmp_path / "cache"), ("retrieval",))
    outcome = run_tables([table], ReproduceSettings(pack, cache=tmp_path / "cache"))
    assert not outcome.done and len(outcome.cached) == 1


def test_a_run_of_another_pack_is_rejected(pack: Path, tmp_path: Path) -> None:
    recipe = shortened(small_recipe("vse"), 0.03, Pack(pack))
    folder = trained(recipe, pack, tmp_path / "run")
    data = json.loads((folder / "data.json").read_text())
    (folder / "data.json").write_text(json.dumps({**data, "fingerprint": "another"}))
    with pytest.raises(InputError, match="was trained on the pack"):
        add_run(folder, ReproduceSettings(pack, tmp_path / "cache"), ("retrieval",))


def test_caches_can_be_joined(pack: Path, tmp_path: Path) -> None:
    run_tables([TABLE.only(("VSE++",))], ReproduceSettings(pack, cache=tmp_path / "there", share=SHARE))
    here = Cache(tmp_path / "here")
    assert here.add_results(tmp_path / "there") == 1
    assert here.add_results(tmp_path / "there") == 0
    there = Cache(tmp_path / "there")
    (result,) = there.fresh_results()
    there.store(result, {"more": Measurement({"figure": 1.0}, {"each": np.ones(3)})}, there.log_path(result.key))
    assert here.add_results(tmp_path / "there") == 1
    (joined,) = Cache(tmp_path / "here").fresh_results()
    assert set(joined.values) == {*result.values, "more"} and here.items(result.key, "more")["each"].sum() == 3
    with pytest.raises(InputError, match="nothing to add"):
        here.add_results(pack)


def test_hash_ignores_names_and_seeds_only() -> None:
    recipe = small_recipe("vse++")
    renamed = replace(recipe, name="other", about="other", seed=5)
    longer = override(recipe, ["base.epochs=31"])
    assert recipe_hash(renamed) == recipe_hash(recipe) != recipe_hash(longer)


def test_shortening_keeps_proportions(pack: Path) -> None:
    """Half of 30 epochs with a step at 15 is 15 with a step at 8; a thirtieth of 3 epochs is less than one."""
    recipe = shortened(small_recipe("vse++"), 0.5, None)
    assert (recipe.stages[0].epochs, recipe.stages[0].schedule.every) == (15, 8)
    shortest = shortened(override(small_recipe("vse++"), ["base.epochs=3"]), 1 / 30, Pack(pack))
    assert shortest.stages[0].epochs == 1 and shortest.stages[0].sampling.steps == 1


def test_a_recipe_that_never_ran_takes_the_median_rate(pack: Path, tmp_path: Path) -> None:
    """One slow recipe does not keep all others from starting."""
    rows = [small_row(name, "convse++", (f"heads.epochs={epochs}",)) for name, epochs in (("a", 2), ("b", 3), ("c", 4))]
    jobs = plan([replace(TABLE, rows=tuple(rows))], ReproduceSettings(pack, tmp_path, share=1.0)).jobs
    fast, slow, new = (
        replace(job, recipe=replace(job.recipe, name=name))
        for job, name in zip((job for job in jobs if job.measures), ("fast", "slow", "new"))
    )
    clock = Clock(None)
    assert clock.expected(new) == 0.0
    for job, rate in ((fast, 1.0), (replace(fast, recipe=replace(fast.recipe, name="usual")), 2.0), (slow, 50.0)):
        clock.record(job, rate * job.size)
    assert clock.expected(new) == 2.0 * new.size
    assert clock.expected(slow) == 50.0 * slow.size


def test_tf32_is_used_and_said(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE", raising=False)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "GPU")
    said: list[str] = []
    original = run_job_module.train_recipe

    def train(*arguments: Any) -> Run:
        said.append(hardware("cuda"))
        return original(*arguments)

    monkeypatch.setattr(run_job_module, "train_recipe", train)
    for name, tf32 in (("plain", False), ("rounded", True)):
        run_tables([TABLE.only(("VSE++",))], ReproduceSettings(pack, tmp_path / name, share=SHARE, tf32=tf32))
    assert said == ["GPU", "GPU, TF32"]
    assert hardware("cuda") == "GPU", "what the caller had is restored"
