"""What is measured of captions: first what a model says, later what the text metrics say of it.

A model and its device are needed to caption a split and to try self-retrieval; METEOR's tables are needed to judge
the captions. The two need not be on one machine: captions are kept in the cache, and metrics are computed from there
when a table is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from tellapart.captioning.concept_baselines import joined_captions, nearest_captions
from tellapart.data.pack import Pack
from tellapart.errors import InputError
from tellapart.evaluation.captions import decode
from tellapart.evaluation.self_retrieval import RANKS, score_captions
from tellapart.reproduce.measured import Measured
from tellapart.training.run import Run
from tellapart.training.run_context import context_for

WIDTH = 3
"""Of the beam: both captioning papers measure with 3."""
SAID, ROWS = "said", "rows"
"""Names of the arrays that captions [I] and their pictures' pack rows [I] are kept under."""


def measure_captions(run: Run, pack: Pack, split: str, device: str) -> Measured:
    """One beam-search caption a picture of the split, kept as text."""
    context, rows = context_for(run, pack, device=device), pack.split(split).pictures
    run.model.eval()
    tokens = decode(run.model, context, rows, WIDTH).tokens.tolist()
    return captions_measured([run.vocabulary.decode(sentence) for sentence in tokens], rows)


def captions_measured(said: list[str], rows: np.ndarray) -> Measured:
    """Captions as a measure: how long and how various they are, and the captions themselves."""
    words = [sentence.split() for sentence in said]
    figures = {
        "words": float(np.mean([len(sentence) for sentence in words])),
        "different_captions": 100.0 * len(set(said)) / len(said),
        "different_words": float(len({word for sentence in words for word in sentence})),
    }
    return Measured(figures, {SAID: np.asarray(said, dtype=np.str_), ROWS: rows})


@torch.no_grad()
def measure_self_retrieval(run: Run, pack: Pack, split: str, device: str) -> Measured:
    """Does a caption find its picture again (paper 1, section 4.1)? Recall in percent, and each picture's hit."""
    context, rows = context_for(run, pack, device=device), pack.split(split).pictures
    run.model.eval()
    scores = score_captions(run.model, context, rows, decode(run.model, context, rows, WIDTH).tokens)  # [I, I]
    before = ((scores >= scores.diagonal().unsqueeze(1)).sum(1) - 1).cpu().numpy()  # as `top_recalls` counts
    hits = {f"top{rank}": 100.0 * (before < rank) for rank in RANKS if rank <= len(rows)}
    return Measured({name: float(hit.mean()) for name, hit in hits.items()}, hits)


UNTRAINED: dict[str, Callable[[Pack, np.ndarray], list[str]]] = {
    "joined-concepts": joined_captions,
    "nearest-sentence": nearest_captions,
}
"""Rows of a table that nothing is learned for: from a pack and picture rows to captions."""


def measure_untrained(name: str, pack: Pack, split: str, measures: tuple[str, ...]) -> dict[str, Measured]:
    """What can be said of a row without a model; measures that ask a model stay empty."""
    rows = pack.split(split).pictures
    found = {measure: Measured({}) for measure in measures}
    if "captions" in found:
        found["captions"] = captions_measured(UNTRAINED[name](pack, rows), rows)
    return found


def text_metrics(items: Mapping[str, np.ndarray], pack: Pack, wanted: frozenset[str]) -> Measured:
    """BLEU-1 to 4, METEOR, ROUGE-L and CIDEr of kept captions, all times 100, with one value a picture.

    Only METEOR is left out where it is not wanted: its tables are large, and not everyone has them.
    """
    from tellapart.metrics.caption_influence import caption_metrics

    rows = [pack.captions_of[int(row)] for row in items[ROWS]]
    if not all(rows):
        raise InputError(f"A picture of {pack.folder} has no caption to compare with; captions cannot be judged on it.")
    references = [[pack.captions[caption].text for caption in captions] for captions in rows]
    found = caption_metrics(items[SAID].tolist(), references, with_meteor="meteor" in wanted)
    return Measured(
        {name: 100.0 * score.corpus for name, score in found.items()},
        {name: 100.0 * score.each for name, score in found.items()},
    )


@dataclass(frozen=True)
class Later:
    """A measure that needs no model, only what another measure has kept."""

    source: str
    compute: Callable[[Mapping[str, np.ndarray], Pack, frozenset[str]], Measured]
    """(kept arrays, pack, names of the wanted figures) -> what was measured."""


LATER: dict[str, Later] = {
    "text-metrics": Later("captions", text_metrics),
    "greedy-text-metrics": Later("grounding", text_metrics),
}
