"""Two processes that write the same thing at once: each ends, or is asked to wait, and the result is whole."""

from __future__ import annotations

import random
import time

from torture.attacked_verbs import MODULES, VERBS, check_index_and_edits
from torture.campaign import Campaign, Case, check, number_of
from torture.children import finish, must_succeed, start
from torture.points import make

CASES = 100


def write_twice(case: Case) -> None:
    """Start two writers a moment apart, or a writer of an index and one of its captions."""
    from torture.sentences import or_a_sentence

    draw = random.Random(f"{case.seed} writers {case.number}")
    name = list(VERBS)[case.number % len(VERBS)]
    other = draw.choice(("index", "edits")) if name in ("index", "edits") else name
    world, out = case.folder / name, case.scratch / "out"
    out.mkdir()
    VERBS[name].start(world, out)
    logs = [case.scratch / f"error{place}.txt" for place in range(2)]
    children = []
    for log, verb in zip(logs, (name, other)):

        def work(verb: str = verb) -> None:
            with or_a_sentence():
                VERBS[verb].work(world, out)

        children.append(start(work, log))
        time.sleep(draw.uniform(0, 0.15))
    codes = [finish(child) for child in children]
    faults = [log.read_text() for log in logs if log.is_file()]
    check(codes == [0, 0], f"{name} beside {other}: {codes} {faults}")
    whole = check_index_and_edits if {name, other} == {"index", "edits"} else VERBS[name].check
    must_succeed(lambda: whole(world, out), case.scratch / "error.txt", f"{name} beside {other}")


TWO_WRITERS = Campaign(run=write_twice, count=number_of(CASES), sample=3, make=make, preload=MODULES, chunk=25)
