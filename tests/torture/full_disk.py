"""A disk that is full from some write on, for every write of every verb: one sentence, and all that was there stays."""

from __future__ import annotations

from pathlib import Path

from torture import shim
from torture.attacked_verbs import MODULES, VERBS
from torture.campaign import Campaign, Case, check
from torture.children import finish, must_succeed, start
from torture.points import every_point, make


def fill_disk(case: Case) -> None:
    """Let one write and all later ones of one verb fail, and check what is left."""
    from torture.sentences import or_a_sentence

    name, point = every_point(case.folder)[case.number]
    verb, world, out = VERBS[name], case.folder / name, case.scratch / "out"
    out.mkdir()
    verb.start(world, out)
    log = case.scratch / "error.txt"

    def work() -> None:
        shim.arm(shim.FULL, point, out)
        with or_a_sentence():
            verb.work(world, out)

    code = finish(start(work, log))
    check(code == 0, f"{name} without space from {point} on: {log.read_text() if log.is_file() else code}")
    must_succeed(lambda: verb.check(world, out), log, f"{name} after no space from {point} on")


def count(folder: Path) -> int:
    """Every point."""
    return len(every_point(folder))


FULL_DISK = Campaign(run=fill_disk, count=count, sample=6, make=make, preload=MODULES, chunk=25, needs_shim=True)
