"""kill -9 at every point at which prepare, extract, train, index and edits write, and at 200 random moments.

Nothing that was there or acknowledged is lost, nothing is there twice, no vector, weight or feature is wrong, and the
same command run again ends as if nothing had happened.
"""

from __future__ import annotations

from pathlib import Path

from torture import shim
from torture.attacked_verbs import MODULES, VERBS
from torture.campaign import Campaign, Case, check
from torture.children import drawn_moment, finish, kill_after, must_succeed, start
from torture.points import every_point, make, plan_of

MOMENTS = 200
KILLED = -9


def count(folder: Path) -> int:
    """Every point, and the random moments."""
    return len(every_point(folder)) + MOMENTS


def kill(case: Case) -> None:
    """Kill one verb once, and check what it leaves."""
    points = every_point(case.folder)
    if case.number < len(points):
        name, point = points[case.number]
    else:
        name, point = list(VERBS)[case.number % len(VERBS)], 0
    verb, world, out = VERBS[name], case.folder / name, case.scratch / "out"
    out.mkdir()
    verb.start(world, out)
    log = case.scratch / "error.txt"

    def work() -> None:
        if point:
            shim.arm(shim.KILL, point, out)
        verb.work(world, out)

    child = start(work, log)
    code = (
        finish(child)
        if point
        else kill_after(child, drawn_moment((case.seed, case.number), plan_of(case.folder)[name][1]))
    )
    check(code in (0, KILLED), f"{name} at {point}: {log.read_text() if log.is_file() else code}")
    must_succeed(lambda: verb.check(world, out), log, f"{name} killed at {point or 'a moment'}")


KILLS = Campaign(run=kill, count=count, sample=12, make=make, preload=MODULES, chunk=25, needs_shim=True)
