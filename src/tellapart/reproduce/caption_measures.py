"""What is measured of captions: first what a model says, later what the text metrics say of it.

A model and its device are needed to caption a split and to try self-retrieval; METEOR's tables are needed to judge
the captions. The two need not be on one machine: captions are kept in the cache, and metrics are computed from there
when a table is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch

from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.data.sampling import captioned
from tellapart.evaluation.captions import decode
from tellapart.evaluation.self_retrieval import RANKS, score_captions
from tellapart.metrics.captions.bleu import bleu
from tellapart.metrics.captions.cider import cider_d
from tellapart.metrics.captions.meteor.score import meteor
from tellapart.metrics.captions.ptb.tokenizer import tokenize
from tellapart.metrics.captions.rouge import rouge_l
from tellapart.metrics.captions.values import Score
from tellapart.metrics.retrieval.bootstrap import SAMPLES, image_weights
from tellapart.models.captioners.concept_baselines import joined_captions, nearest_captions
from tellapart.models.captioners.teacher_forcing import as_captioner
from tellapart.reproduce.measured import Measured
from tellapart.runs.context import context_for
from tellapart.runs.run import Run

WIDTH = 3
"""Of the beam: both captioning papers measure with 3."""
SAID, ROWS = "said", "rows"
"""Names of the arrays that captions [I] and their images' pack rows [I] are kept under."""


def measure_captions(run: Run, pack: Pack, split: str, device: str) -> Measured:
    """One beam-search caption a captioned image of the split, kept as text."""
    context, rows = context_for(run, pack, device=device), captioned(pack, split).images
    tokens = decode(as_captioner(run.model.eval()), context, rows, WIDTH).tokens.tolist()
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
    """Does a caption find its image again (paper 1, section 4.1)? Recall in percent, and each image's hit."""
    context, rows = context_for(run, pack, device=device), pack.split(split).images
    model = as_captioner(run.model.eval())
    scores = score_captions(model, context, rows, decode(model, context, rows, WIDTH).tokens)  # [I, I]
    before = ((scores >= scores.diagonal().unsqueeze(1)).sum(1) - 1).cpu().numpy()  # as `top_recalls` counts
    hits = {f"top{rank}": 100.0 * (before < rank) for rank in RANKS if rank <= len(rows)}
    return Measured({name: float(hit.mean()) for name, hit in hits.items()}, hits)


UNTRAINED: dict[str, Callable[[Pack, np.ndarray], list[str]]] = {
    "joined-concepts": joined_captions,
    "nearest-sentence": nearest_captions,
}
"""Rows of a table that nothing is learned for: from a pack and image rows to captions."""


def measure_untrained(name: str, pack: Pack, split: str, measures: tuple[str, ...]) -> dict[str, Measured]:
    """What can be said of a row without a model; measures that ask a model stay empty."""
    rows = captioned(pack, split).images
    found = {measure: Measured({}) for measure in measures}
    if "captions" in found:
        found["captions"] = captions_measured(UNTRAINED[name](pack, rows), rows)
    return found


def text_metrics(items: Mapping[str, np.ndarray], pack: Pack, features: str | None, wanted: frozenset[str]) -> Measured:
    """BLEU-1 to 4, METEOR, ROUGE-L and CIDEr of kept captions, all times 100, and each on bootstrapped images.

    Only METEOR is left out where it is not wanted: its tables are large, and not everyone has them.
    """
    rows = [pack.captions_of[int(row)] for row in items[ROWS]]
    if not all(rows):
        raise InputError(f"An image of {pack.folder} has no caption to compare with; captions cannot be judged on it.")
    said = tokenize(items[SAID].tolist())
    words = iter(tokenize([pack.captions[caption].text for captions in rows for caption in captions]))
    references = [[next(words) for _ in captions] for captions in rows]
    found = {f"bleu{order}": score for order, score in enumerate(bleu(said, references), start=1)}
    if "meteor" in wanted:
        found["meteor"] = meteor(said, references)
    found |= {"rouge_l": rouge_l(said, references), "cider": cider_d(said, references)}
    weights = image_weights(len(said), SAMPLES, 0)  # [samples, I]
    drawn = {f"drawn_{name}": (100.0 * _resampled(score, weights)).astype(np.float32) for name, score in found.items()}
    return Measured({name: 100.0 * score.corpus for name, score in found.items()}, drawn)


def _resampled(score: Score, weights: np.ndarray) -> np.ndarray:
    """The corpus value on each of the weighted sets of images: of sums for BLEU and METEOR, a mean for the others."""
    if score.sums is None:
        return weights @ score.each
    return score.sums.value(weights @ score.sums.columns * len(score.each))
