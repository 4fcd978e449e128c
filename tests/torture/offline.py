"""Every verb without a network: it works, and it does not even try to reach another machine."""

from __future__ import annotations

import os
import shlex

from torture import shim
from torture.campaign import Campaign, Case, check, number_of
from torture.children import must_succeed
from torture.served_index import MODULES, make

COMMANDS = (
    "prepare {world}/photos --out pack --min-count 1",
    "extract {world}/pack --kind grid --name here",
    "annotate {world}/pack --nouns --sentence-targets minilm",
    "train vse++ --data {world}/pack --out run --set base.epochs=1 base.model.embedding=8",
    "evaluate {world}/find --data {world}/pack --split val",
    "caption {world}/photos/red-left.png",
    "caption {world}/photos/red-left.png --against {world}/photos",
    "index {world}/photos --out index",
    "search {world}/index 'red ball'",
    "score --references {world}/r.json --candidates {world}/c.json",
    "recipes",
    "report {world}/find --data {world}/pack --split val --out report.html",
)


def stay_here(case: Case) -> None:
    """Run one verb and count the connections that it tries."""
    command = COMMANDS[case.number]

    def work() -> None:
        from tellapart.cli.main import main

        os.chdir(case.scratch)
        shim.go_offline()
        code = main(shlex.split(command.format(world=case.folder)))
        check(code == 0, f"it ends with {code}")
        check(not shim.connections(), f"it tried {shim.connections()} connections")

    must_succeed(work, case.scratch / "error.txt", f"tellapart {command}")


OFFLINE = Campaign(
    run=stay_here, count=number_of(len(COMMANDS)), sample=2, make=make, preload=(*MODULES, "tellapart.cli.main"),
    chunk=len(COMMANDS), needs_shim=True,
)  # fmt: skip
