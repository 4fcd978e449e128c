"""Training that is disturbed: processes of a group are killed, gradients are not numbers, the clock jumps.

Resumed training ends with the weights of training that was never disturbed.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import time
from pathlib import Path

from torture import shim
from torture.attacked_verbs import MODULES, VERBS
from torture.campaign import Campaign, Case, check, number_of
from torture.children import finish, must_succeed, start
from torture.folder_worlds import MATCHER, train
from torture.points import every_point, make

GROUPS = (2, 4)
STEPS = 5
"""Of the small training."""
PATIENCE = 240.0
"""Seconds for a group to end its work, or to notice that one of it is gone."""


# Several processes with gloo.


def make_groups(folder: Path) -> None:
    """A pack, and what two and four processes make of it undisturbed."""
    from tiny_pack import make_tiny_pack

    make_tiny_pack(folder / "pack")
    for size in GROUPS:
        codes = _together(folder, folder / f"of{size}", size)
        check(codes == [0] * size, f"{size} processes: {codes}")


def kill_a_process(case: Case) -> None:
    """Kill one process of a group at a random moment, twice; then let the group end its work."""
    size = GROUPS[case.number % len(GROUPS)]
    draw = random.Random(f"{case.seed} group {case.number}")
    out = case.scratch / "run"
    for _ in range(2):
        codes = _together(case.folder, out, size, victim=draw.randrange(size), moment=draw.uniform(0.05, 1.5))
        errors = sorted(path.read_text()[:200] for path in out.parent.glob("rank*.txt"))
        check(all(code in (0, 1, -9, -6) for code in codes), f"{size} processes end with {codes} {errors}")
    codes = _together(case.folder, out, size)
    errors = sorted(path.read_text()[:300] for path in out.parent.glob("rank*.txt"))
    check(codes == [0] * size, f"{size} processes cannot resume: {codes} {errors}")
    must_succeed(lambda: _close_to(out, case.folder / f"of{size}"), case.scratch / "error.txt", f"{size} processes")


def _together(folder: Path, out: Path, size: int, victim: int = -1, moment: float = 0.0) -> list[int]:
    """The exit codes of a group. As torchrun does, the others are ended once one has failed."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    out.parent.mkdir(parents=True, exist_ok=True)
    children = []
    for rank in range(size):

        def work(rank: int = rank) -> None:
            os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size),
                           "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}  # fmt: skip
            train(folder / "pack", out, "vse++", MATCHER, resume=True)

        (out.parent / f"rank{rank}.txt").unlink(missing_ok=True)
        children.append(start(work, out.parent / f"rank{rank}.txt"))
    if victim >= 0:
        time.sleep(moment)
        os.kill(children[victim], signal.SIGKILL)
    return _ended(children)


def _ended(children: list[int]) -> list[int]:
    codes: dict[int, int] = {}
    end = time.monotonic() + PATIENCE
    while len(codes) < len(children):
        for child in set(children) - set(codes):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                codes[child] = os.waitstatus_to_exitcode(status)
        if any(codes.values()) or time.monotonic() > end:
            end = float("inf")
            for child in set(children) - set(codes):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    return [codes[child] for child in children]


def _close_to(out: Path, reference: Path) -> None:
    from safetensors.torch import load_file

    from tellapart.training.log import read_log

    found, whole = (load_file(where / "model.safetensors") for where in (out, reference))
    check(found.keys() == whole.keys(), "other weights")
    apart = max(float((found[name] - whole[name]).abs().max()) for name in whole)
    check(apart < 1e-5, f"weights differ by {apart}")
    totals = [[row["total"] for row in read_log(where / "log.jsonl")] for where in (out, reference)]
    check(totals[0] == totals[1], f"rows of the log: {totals}")


GLOO = Campaign(
    run=kill_a_process,
    count=number_of(20),
    sample=2,
    make=make_groups,
    preload=(*MODULES, "torch.distributed"),
    chunk=10,
)


# Gradients that are not numbers.


def spoil_gradients(case: Case) -> None:
    """One gradient of one step is NaN or infinite: training stops in a sentence, and resumes from before that step."""
    world, out = case.folder / "train", case.scratch / "out"
    out.mkdir()
    log = case.scratch / "error.txt"
    code = finish(start(lambda: _train_spoiled(world, out, case), log))
    check(code == 0, f"step {case.number % STEPS}: {log.read_text() if log.is_file() else code}")
    must_succeed(lambda: VERBS["train"].check(world, out), log, f"after a spoiled step {case.number % STEPS}")


def _train_spoiled(world: Path, out: Path, case: Case) -> None:
    from tellapart.core.errors import InputError
    from tellapart.training import loop

    learn, calls = loop.training_step, []
    value = float("nan") if case.number % 2 else float("inf")

    def spoiled(stage, learner, *rest):  # type: ignore[no-untyped-def]
        calls.append(1)
        hooks = []
        if len(calls) == 1 + case.number % STEPS:
            weights = learner.optimiser.param_groups[0]["params"]
            one = weights[case.number % len(weights)]
            hooks.append(one.register_hook(lambda gradient: gradient * value))
        try:
            return learn(stage, learner, *rest)
        finally:
            for hook in hooks:
                hook.remove()

    loop.training_step = spoiled
    try:
        VERBS["train"].work(world, out)
    except InputError as error:
        check("finite" in str(error) or "is nan" in str(error) or "is inf" in str(error), f"it says {error}")
        return
    check(False, "training continued with weights that are no numbers")


SPOILED_GRADIENTS = Campaign(run=spoil_gradients, count=number_of(50), sample=2, make=make, preload=MODULES, chunk=25)


# A clock that jumps.


def jump(case: Case) -> None:
    """Kill a verb while the time of day jumps by days, back and forth; it is resumed under the same clock."""
    draw = random.Random(f"{case.seed} clock {case.number}")
    name, point = draw.choice(every_point(case.folder))
    verb, world, out = VERBS[name], case.folder / name, case.scratch / "out"
    out.mkdir()
    verb.start(world, out)

    def work() -> None:
        shim.jump(True)
        shim.arm(shim.KILL, point, out)
        verb.work(world, out)

    def check_it() -> None:
        shim.jump(True)
        verb.check(world, out)

    log = case.scratch / "error.txt"
    code = finish(start(work, log))
    check(code in (0, -9), f"{name} under a jumping clock: {log.read_text() if log.is_file() else code}")
    must_succeed(check_it, log, f"{name} under a jumping clock, killed at {point}")


JUMPING_CLOCK = Campaign(
    run=jump, count=number_of(100), sample=2, make=make, preload=MODULES, chunk=25, needs_shim=True
)
