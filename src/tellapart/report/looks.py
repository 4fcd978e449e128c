"""The report's section on looking: runs side by side on the same pictures, before and after supervision, say."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from tellapart.data.pack import Pack
from tellapart.data.upright import upright
from tellapart.data.usual_nouns import usual_nouns
from tellapart.report import page
from tellapart.report.attention import draw_comparison, gaze_of, looks
from tellapart.training.run import Run
from tellapart.training.run_context import context_for

ACROSS = 3
"""Runs beside each other in one row; more would be too small to see."""


def looks_section(runs: Sequence[Run], pack: Pack, split: str, examples: int, seed: int) -> str:
    """HTML of each captioner's gaze at random pictures; empty where no run looks at boxes."""
    contexts = [(run, context_for(run, pack)) for run in runs]
    looking = [
        (run, context)
        for run, context in contexts
        if context.store is not None and context.store.boxes is not None and looks(run.model)
    ]
    if not looking:
        return ""
    nouns = usual_nouns(pack) if pack.has_column("nouns") else None
    chosen = np.random.default_rng(seed).permutation(pack.split(split).pictures)[:examples]
    parts = []
    for picture in chosen.tolist():
        gazes = [
            (run.folder.name, gaze_of(run.model, context.batches.images(np.asarray([picture])), run.vocabulary, nouns))
            for run, context in looking
        ]
        with Image.open(pack.picture_path(picture)) as opened:
            photo = upright(opened).copy()
        for first in range(0, len(gazes), ACROSS):
            said = "; ".join(f"{name}: {' '.join(gaze.words)}" for name, gaze in gazes[first : first + ACROSS])
            held = io.BytesIO()
            draw_comparison(photo, gazes[first : first + ACROSS], width=480).save(held, "PNG", optimize=True)
            parts.append(page.row([page.plot(held.getvalue(), said)]))
    return "".join(parts)
