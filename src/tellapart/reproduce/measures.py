"""What is measured of a finished run, by name: figures, and where there are some, what each picture adds to them.

Per-picture values allow a paired bootstrap when a row has only one run: `ranks` of retrieval queries, or an array named
like its figure whose mean over pictures is that figure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch

from tellapart.data.pack import Pack
from tellapart.evaluation.retrieval import full_measures, score_split
from tellapart.metrics.recall import retrieval_ranks
from tellapart.training.log import read_log
from tellapart.training.run import Run
from tellapart.training.run_context import context_for

RANKS = ("ranks_i2t", "ranks_t2i", "owner")
"""Names of the arrays that retrieval ranks are kept under: [I], [C] and [C]."""


@dataclass(frozen=True)
class Measured:
    figures: dict[str, float]
    items: dict[str, np.ndarray] = field(default_factory=dict)


Measure = Callable[[Run, Pack, str, str], Measured]
"""(run, pack, split, device) -> what was measured."""


def measure_retrieval(run: Run, pack: Pack, split: str, device: str) -> Measured:
    """Recall both ways, R-precision and 1K folds where they apply, with the rank of every query."""
    with torch.no_grad():
        found = score_split(run.model, context_for(run, pack, device=device), split)
    figures = {name: v for name, v in full_measures(found).items() if not name.endswith(("_low", "_high"))}
    ranks = retrieval_ranks(found.scores, found.owner)
    arrays = (ranks.picture_to_text, ranks.text_to_picture, ranks.owner)
    return Measured(figures, {name: array.numpy().astype(np.int32) for name, array in zip(RANKS, arrays)})


def measure_log(run: Run, pack: Pack, split: str, device: str) -> Measured:
    """Figures of training itself, from the last stage's log: `last_NAME` and `best_NAME` (the highest) of every one."""
    rows = [row for row in read_log(run.folder / "log.jsonl") if row["stage"] == run.last_stage.name]
    figures: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, float) and value == value:
                figures[f"last_{name}"] = value
                figures[f"best_{name}"] = max(value, figures.get(f"best_{name}", value))
    return Measured(figures)


MEASURES: dict[str, Measure] = {"retrieval": measure_retrieval, "log": measure_log}
