"""Mutated data files of every reader and importer: read, with what is left out reported, or rejected in a sentence."""

from __future__ import annotations

import random
from pathlib import Path

from torture.campaign import Campaign, Case, number_of
from torture.mutants import mutated

CASES = 10_000


def make(folder: Path) -> None:
    """Write every source."""
    from torture.data_sources import SOURCES

    for name, source in SOURCES.items():
        source.make(folder / name)
        (folder.parent / f"try-{name}").mkdir()
        source.read(folder / name, folder.parent / f"try-{name}")


def read(case: Case) -> None:
    """Damage one file of one source and read it."""
    from torture.data_sources import SOURCES, copy_of, data_files
    from torture.sentences import or_a_sentence

    draw = random.Random(f"{case.seed} data {case.number}")
    names = list(SOURCES)
    name = names[case.number % len(names)]
    source = copy_of(case.folder / name, case.scratch / name)
    path = draw.choice(data_files(source))
    data = path.read_bytes()
    if path.suffix == ".gz" and draw.random() < 0.5:
        import gzip

        path.write_bytes(gzip.compress(mutated(gzip.decompress(data), draw)))
    else:
        path.write_bytes(mutated(data, draw))
    with or_a_sentence():
        SOURCES[name].read(source, case.scratch)


MUTATED_DATA = Campaign(
    run=read,
    count=number_of(CASES),
    sample=68,
    make=make,
    preload=(
        "torture.data_sources", "tellapart.data.prepare", "tellapart.features.importers.importing",
        "tellapart.metrics.captions.compare", "tellapart.papers.recipes", "h5py",
    ),
    chunk=200,
)  # fmt: skip
