"""What is measured of a run that looks: grounding figures with their bootstrap, and its greedy captions as text."""

from __future__ import annotations

import numpy as np
import torch

from tellapart.data.pack import Pack
from tellapart.evaluation.grounding import drawn_figures, ground
from tellapart.metrics.retrieval.bootstrap import SAMPLES, image_weights
from tellapart.reproduce.caption_measures import captions_measured
from tellapart.reproduce.measured import Measured
from tellapart.runs.context import context_for
from tellapart.runs.run import Run


def measure_grounding(run: Run, pack: Pack, split: str, device: str) -> Measured:
    """Figures of `evaluation.grounding`. What text metrics say of the captions is computed later, from what is kept."""
    context = context_for(run, pack, device=device)
    with torch.no_grad():
        found = ground(run.model, context, split)
    figures = dict(found.figures)
    counts = (image_weights(len(found.image_rows), SAMPLES, 0) * len(found.image_rows)).astype(np.float32)
    items = {f"drawn_{name}": values.astype(np.float32) for name, values in drawn_figures(found, counts).items()}
    if found.said is not None:
        said = captions_measured([run.vocabulary.decode(row) for row in found.said.tolist()], found.image_rows)
        figures, items = figures | said.figures, items | said.items
    return Measured(figures, items)
