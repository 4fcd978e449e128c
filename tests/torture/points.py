"""Where work can be disturbed: how many write points it has and how long it takes, found by running it once."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from torture import shim
from torture.attacked_verbs import VERBS
from torture.children import must_succeed


def make(folder: Path) -> None:
    """Make every verb's world; where calls can be counted, run it once and write plan.json: points and seconds."""
    plan = {}
    for name, verb in VERBS.items():
        world, out = folder / name, folder / "trial" / name / "out"
        world.mkdir(parents=True)
        out.mkdir(parents=True)
        log = folder / f"{name}.log"
        must_succeed(lambda: verb.make(world), log, f"{name} cannot be set up")  # noqa: B023
        if not shim.is_loaded():
            continue
        verb.start(world, out)

        def counted() -> None:
            shim.skip_sync()
            shim.arm(shim.COUNT, 0, out)  # noqa: B023
            started = time.monotonic()
            verb.work(world, out)  # noqa: B023
            log.write_text(json.dumps([shim.seen(), time.monotonic() - started]))  # noqa: B023

        must_succeed(counted, log, f"{name} fails undisturbed")
        plan[name] = json.loads(log.read_text())
        must_succeed(lambda: verb.check(world, out), log, f"{name} is not what it should be")  # noqa: B023
    (folder / "plan.json").write_text(json.dumps(plan))
    print(plan, file=sys.stderr)


def plan_of(folder: Path) -> dict[str, tuple[int, float]]:
    """(points, seconds) by verb."""
    return {name: (int(points), float(seconds)) for name, (points, seconds) in _read(folder).items()}


def every_point(folder: Path) -> list[tuple[str, int]]:
    """All (verb, point), points counted from 1."""
    return [(name, point) for name, (points, _) in plan_of(folder).items() for point in range(1, points + 1)]


def _read(folder: Path) -> dict[str, list[float]]:
    found: dict[str, list[float]] = json.loads((folder / "plan.json").read_text())
    return found
