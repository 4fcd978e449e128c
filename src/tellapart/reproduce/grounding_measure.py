"""Grounding metrics of a run with their bootstrap, and its greedy captions as text."""

from __future__ import annotations

import numpy as np
import torch

from tellapart.data.pack import Pack
from tellapart.evaluation.grounding import drawn_values, ground
from tellapart.metrics.retrieval.bootstrap import SAMPLES, image_weights
from tellapart.reproduce.caption_measures import measure_texts
from tellapart.reproduce.measurement import Measurement
from tellapart.runs.context import context_for
from tellapart.runs.run import Run


def measure_grounding(run: Run, pack: Pack, split: str, device: str) -> Measurement:
    """Metrics of `evaluation.grounding`; text metrics of the captions are derived from the stored captions."""
    context = context_for(run, pack, device=device)
    with torch.no_grad():
        found = ground(run.model, context, split)
    values = dict(found.values)
    counts = (image_weights(len(found.image_rows), SAMPLES, 0) * len(found.image_rows)).astype(np.float32)
    items = {f"drawn_{name}": drawn.astype(np.float32) for name, drawn in drawn_values(found, counts).items()}
    if found.tokens is not None:
        texts = measure_texts([run.vocabulary.decode(row) for row in found.tokens.tolist()], found.image_rows)
        values, items = values | texts.values, items | texts.items
    return Measurement(values, items)
