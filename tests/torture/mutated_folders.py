"""Mutated runs, stopped runs, packs and indexes: used as they are, or rejected in a sentence."""

from __future__ import annotations

import random
import shutil

from torture.campaign import Campaign, Case, number_of
from torture.folder_worlds import KINDS, make
from torture.mutants import mutated

CASES = 2_000


def use(case: Case) -> None:
    """Damage one file of one folder, and use the folder."""
    from torture.sentences import or_a_sentence

    draw = random.Random(f"{case.seed} folder {case.number}")
    name = list(KINDS)[case.number % len(KINDS)]
    folder = case.scratch / name
    shutil.copytree(case.folder / name, folder)
    path = draw.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    path.write_bytes(mutated(path.read_bytes(), draw))
    with or_a_sentence():
        KINDS[name].use(case.folder, folder)


MUTATED_FOLDERS = Campaign(
    run=use,
    count=number_of(CASES),
    sample=15,
    make=make,
    preload=(
        "torture.folder_worlds", "tiny_pack", "embeds_colours", "tellapart.training.train", "tellapart.runs.evaluate",
        "tellapart.papers.recipes", "tellapart.search.query", "pytest", "torch._dynamo", "torch._inductor",
    ),
    chunk=50,
)  # fmt: skip
