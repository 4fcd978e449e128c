"""What is measured of a run that looks: grounding figures, scores of its greedy captions, and how sure they are."""

from __future__ import annotations

import numpy as np
import torch

from tellapart.data.pack import Pack
from tellapart.evaluation.grounding import drawn_figures, ground, region_ceiling
from tellapart.evaluation.spoken_scores import spoken_scores
from tellapart.metrics.bootstrap import SAMPLES, picture_weights
from tellapart.reproduce.measured import Measured
from tellapart.training.run import Run
from tellapart.training.run_context import context_for


def measure_grounding(run: Run, pack: Pack, split: str, device: str) -> Measured:
    """Figures of `evaluation.grounding`, BLEU to CIDEr in percent; the captions themselves (`said`) are kept, so that
    scores that need more than this machine has can be added later."""
    context = context_for(run, pack, device=device)
    with torch.no_grad():
        found = ground(run.model, context, split)
    figures = {**found.figures, **region_ceiling(context, split)}
    counts = (picture_weights(len(found.pictures), SAMPLES, 0) * len(found.pictures)).astype(np.float32)
    items = {f"drawn_{name}": values.astype(np.float32) for name, values in drawn_figures(found, counts).items()}
    if found.said is not None:
        items["said"] = found.said.numpy().astype(np.int32)
        for name, score in spoken_scores(found.said, context, found.pictures).items():
            figures[name] = 100 * score.corpus
            if name == "caption_cider":  # the only one whose mean over pictures is the corpus score
                items[name] = 100 * score.each
    return Measured(figures, items)
