"""Measures of captions: first the captions themselves, later their text metrics.

Captioning a split and self-retrieval need a model and its device; text metrics need METEOR's tables. The two can be on
different machines: captions are stored in the cache, and metrics are computed from there when a table is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

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
from tellapart.metrics.retrieval.self_retrieval import self_retrieval_ranks
from tellapart.models.captioners.concept_baselines import joined_captions, nearest_captions
from tellapart.models.captioners.teacher_forcing import as_captioner
from tellapart.objectives.context import Context
from tellapart.reproduce.measurement import Measurement
from tellapart.runs.context import context_for
from tellapart.runs.run import Run

WIDTH = 3
"""Beam width; both captioning papers use 3."""
_GENERATED: WeakKeyDictionary[nn.Module, tuple[np.ndarray, Tensor]] = WeakKeyDictionary()
"""Rows and captions of the models that are being measured."""
ASKED = 1000
"""Most captions that look for their image in self-retrieval, evenly spaced; they look among all images."""
CAPTIONS, ROWS = "said", "rows"
"""Names of the stored arrays: captions [I], and the pack rows of their images [I]."""


def measure_captions(run: Run, pack: Pack, split: str, device: str) -> Measurement:
    """One beam-search caption per captioned image of the split, stored as text."""
    context, rows = context_for(run, pack, device=device), captioned(pack, split).images
    tokens = _captions(run, context, rows).tolist()
    return measure_texts([run.vocabulary.decode(caption) for caption in tokens], rows)


def _captions(run: Run, context: Context, rows: np.ndarray) -> Tensor:
    """Captions of these images (words, END, PAD) [I, T], generated once for all measures of a run."""
    known = _GENERATED.get(run.model)
    if known is None or not np.array_equal(known[0], rows):
        known = rows, decode(as_captioner(run.model.eval()), context, rows, WIDTH).tokens
        _GENERATED[run.model] = known
    return known[1]


def measure_texts(captions: list[str], rows: np.ndarray) -> Measurement:
    """How long and how diverse captions are, and the captions themselves."""
    words = [caption.split() for caption in captions]
    values = {
        "words": float(np.mean([len(caption) for caption in words])),
        "different_captions": 100.0 * len(set(captions)) / len(captions),
        "different_words": float(len({word for caption in words for word in caption})),
    }
    return Measurement(values, {CAPTIONS: np.asarray(captions, dtype=np.str_), ROWS: rows})


def asked_places(images: int) -> np.ndarray:
    """Which captions look for their image: all, or every second, third, … one, so that there are at most ASKED.

    >>> len(asked_places(1000)), len(asked_places(5000)), asked_places(5000)[:3].tolist()
    (1000, 1000, [0, 5, 10])
    """
    return np.arange(0, images, max(1, -(-images // ASKED)))


@torch.no_grad()
def measure_self_retrieval(run: Run, pack: Pack, split: str, device: str) -> Measurement:
    """Self-retrieval: whether a caption finds its image among all images of the split (CL paper, section 4.1). Recall
    in percent, and hits per caption; of more than ASKED captions, evenly spaced ones are asked."""
    context, rows = context_for(run, pack, device=device), pack.split(split).images
    model = as_captioner(run.model.eval())
    asked, tokens = torch.from_numpy(asked_places(len(rows))), _captions(run, context, rows)
    scores = score_captions(model, context, rows, tokens[asked.to(tokens.device)])  # [C, I]
    ranks = self_retrieval_ranks(scores, asked.to(scores.device)).cpu().numpy()
    hits = {f"top{rank}": 100.0 * (ranks < rank) for rank in RANKS if rank <= len(rows)}
    return Measurement({name: float(hit.mean()) for name, hit in hits.items()}, hits)


UNTRAINED: dict[str, Callable[[Pack, np.ndarray], list[str]]] = {
    "joined-concepts": joined_captions,
    "nearest-sentence": nearest_captions,
}
"""Captions that need no training, by name: from a pack and image rows to captions."""


def measure_untrained(name: str, pack: Pack, split: str, measures: tuple[str, ...]) -> dict[str, Measurement]:
    """Measurements of a row without a model; measures that need a model stay empty."""
    rows = captioned(pack, split).images
    found = {measure: Measurement({}) for measure in measures}
    if "captions" in found:
        found["captions"] = measure_texts(UNTRAINED[name](pack, rows), rows)
    return found


def text_metrics(
    items: Mapping[str, np.ndarray], pack: Pack, features: str | None, metrics: frozenset[str]
) -> Measurement:
    """BLEU-1 to 4, METEOR, ROUGE-L and CIDEr of stored captions, all times 100, and each on bootstrapped images.

    METEOR is computed only if it is among `metrics`: its tables are large, and not everyone has them.
    """
    rows = [pack.captions_of[int(row)] for row in items[ROWS]]
    if not all(rows):
        raise InputError(
            f"An image of {pack.folder} has no caption to compare with, so text metrics cannot be computed."
        )
    captions = tokenize(items[CAPTIONS].tolist())
    words = iter(tokenize([pack.captions[caption].text for group in rows for caption in group]))
    references = [[next(words) for _ in group] for group in rows]
    found = {f"bleu{order}": score for order, score in enumerate(bleu(captions, references), start=1)}
    if "meteor" in metrics:
        found["meteor"] = meteor(captions, references)
    found |= {"rouge_l": rouge_l(captions, references), "cider": cider_d(captions, references)}
    weights = image_weights(len(captions), SAMPLES, 0)  # [samples, I]
    drawn = {f"drawn_{name}": (100.0 * _resampled(score, weights)).astype(np.float32) for name, score in found.items()}
    return Measurement({name: 100.0 * score.corpus for name, score in found.items()}, drawn)


def _resampled(score: Score, weights: np.ndarray) -> np.ndarray:
    """The corpus value on each weighted set of images: from sums for BLEU and METEOR, a mean for the others."""
    if score.sums is None:
        return weights @ score.each  # type: ignore[no-any-return]
    return score.sums.value(weights @ score.sums.columns * len(score.each))
