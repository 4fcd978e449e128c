"""The report's section on attention: runs side by side on the same images, such as before and after supervision."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from tellapart.data.pack import Pack
from tellapart.data.usual_nouns import usual_nouns
from tellapart.images.orientation import upright
from tellapart.inference.attention import attends, greedy_attention
from tellapart.report import page
from tellapart.report.attention import draw_comparison
from tellapart.runs.context import context_for
from tellapart.runs.run import Run
from tellapart.text.written import as_written

ACROSS = 3
"""Runs next to each other in one row; more would be too small to see."""


def attention_section(runs: Sequence[Run], pack: Pack, split: str, examples: int, seed: int) -> str:
    """HTML of each captioner's attention on random images; empty where no run attends to boxes."""
    attending = [
        (run, context)
        for run, context in ((run, context_for(run, pack)) for run in runs)
        if context.store is not None and context.store.boxes is not None and attends(run.model)
    ]
    if not attending:
        return ""
    nouns = usual_nouns(pack) if pack.has_column("nouns") else None
    chosen = np.random.default_rng(seed).permutation(pack.split(split).images)[:examples]
    parts = []
    for image in chosen.tolist():
        attentions = [
            (
                run.folder.name,
                greedy_attention(run.model, context.batches.images(np.asarray([image])), run.vocabulary, nouns),
            )
            for run, context in attending
        ]
        with Image.open(pack.image_path(image)) as opened:
            photo = upright(opened).copy()
        for first in range(0, len(attentions), ACROSS):
            shown = attentions[first : first + ACROSS]
            description = "; ".join(f"{name}: {as_written(' '.join(attention.words))}" for name, attention in shown)
            file = io.BytesIO()
            draw_comparison(photo, shown, width=480).save(file, "PNG", optimize=True)
            parts.append(page.row([page.plot(file.getvalue(), description)]))
    return "".join(parts)
