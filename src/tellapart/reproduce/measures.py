"""What is measured of a finished run, by name: values, and where there are some, what each image adds to them.

Per-image values allow a bootstrap over images that is paired between rows (`draws.py`): `ranks` of retrieval queries,
or an array named like its value whose mean over images is that value. A value that is no such mean may give its
bootstrap itself, as `drawn_` and its name: [SAMPLES] values on the images that `metrics.bootstrap.image_weights` draws
with seed 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tellapart.core.files import read_json
from tellapart.data.pack import Pack
from tellapart.evaluation.retrieval import SplitScores, score_split
from tellapart.metrics.retrieval.ndcg import ndcg, ndcg_rouge
from tellapart.metrics.retrieval.recall import (
    Ranks,
    own_captions,
    r_precision,
    retrieval_ranks,
    summarise,
    thousand_fold_ranks,
    thousand_folds,
)
from tellapart.metrics.retrieval.rouge_relevance import rouge_relevance
from tellapart.reproduce.caption_measures import measure_captions, measure_self_retrieval
from tellapart.reproduce.grounding_measure import measure_grounding
from tellapart.reproduce.measurement import Measurement
from tellapart.runs.context import context_for
from tellapart.runs.run import Run
from tellapart.training.log import read_log

RANKS = ("ranks_i2t", "ranks_t2i", "owner")
"""Names of the arrays with retrieval ranks: [I], [C] and [C]."""
IN_FOLDS = "1k_"
"""Beginning of the names of metrics, and of arrays with ranks, within folds of 1,000 images."""


Measure = Callable[[Run, Pack, str, str], Measurement]
"""(run, pack, split, device) -> the measurement."""


def measure_retrieval(run: Run, pack: Pack, split: str, device: str) -> Measurement:
    """Recall in both directions, R-precision, and 1K folds where they apply, with the rank of every query."""
    found = _scores(run, pack, split, device)
    ranks = retrieval_ranks(found.scores, found.owner)
    values = summarise(ranks)
    values["i2t_r_precision"] = r_precision(found.scores, own_captions(found.owner, len(found.image_rows)))
    values |= thousand_folds(found.scores, found.owner)
    items = _rank_arrays(ranks)
    within = thousand_fold_ranks(found.scores, found.owner)
    if within is not None:
        items |= {f"{IN_FOLDS}{name}": array for name, array in _rank_arrays(within).items()}
    return Measurement(values, items)


def _rank_arrays(ranks: Ranks) -> dict[str, np.ndarray]:
    arrays = (ranks.image_to_text, ranks.text_to_image, ranks.owner)
    return {name: array.cpu().numpy().astype(np.int32) for name, array in zip(RANKS, arrays)}


def measure_ndcg(run: Run, pack: Pack, split: str, device: str) -> Measurement:
    """nDCG@25 of captions as queries, with ROUGE-L as relevance; a measure by itself since it takes long."""
    found = _scores(run, pack, split, device)
    if found.scores.numel() > KEPT_RELEVANCE:
        texts = [pack.captions[row].text for row in found.captions]
        return Measurement({"t2i_ndcg_rouge": ndcg_rouge(found.scores, texts, found.owner)})
    relevance = _relevance(pack.folder, tuple(found.captions.tolist()), tuple(found.owner.tolist()))
    return Measurement({"t2i_ndcg_rouge": ndcg(found.scores, relevance)})


def _scores(run: Run, pack: Pack, split: str, device: str) -> SplitScores:
    with torch.no_grad():
        return score_split(run.model, context_for(run, pack, device=device), split, on_device=True)


KEPT_RELEVANCE = 1 << 24
"""Most values of a relevance matrix that is kept from run to run; a larger one is computed in parts each time."""


@lru_cache(maxsize=2)
def _relevance(folder: Path, captions: tuple[int, ...], owner: tuple[int, ...]) -> Tensor:
    """[C, I]. The same for every run on a pack, so it is computed once per process."""
    pack = Pack(folder)
    return rouge_relevance([pack.captions[row].text for row in captions], torch.tensor(owner))


def measure_log(run: Run, pack: Pack, split: str, device: str) -> Measurement:
    """Figures of training itself, from the last stage's log: `last_NAME` and `best_NAME` (the highest) of every one."""
    rows = [row for row in read_log(run.folder / "log.jsonl") if row["stage"] == run.last_stage.name]
    values: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, float) and value == value:
                values[f"last_{name}"] = value
                values[f"best_{name}"] = max(value, values.get(f"best_{name}", value))
    return Measurement(values)


SECONDS = "seconds.json"
"""File in a run folder: how long its stages took to train, including those copied from another run."""


def measure_training(run: Run, pack: Pack, split: str, device: str) -> Measurement:
    """Seconds of training, if the run was made here; an interrupted run counts from where it was resumed."""
    path = run.folder / SECONDS
    return Measurement({"seconds": float(read_json(path)["training"])} if path.is_file() else {})


def measure_size(run: Run, pack: Pack, split: str, device: str) -> Measurement:
    """Parameters of the model, in millions."""
    return Measurement({"parameters": sum(weight.numel() for weight in run.model.parameters()) / 1e6})


MEASURES: dict[str, Measure] = {
    "captions": measure_captions,
    "grounding": measure_grounding,
    "log": measure_log,
    "ndcg": measure_ndcg,
    "retrieval": measure_retrieval,
    "self-retrieval": measure_self_retrieval,
    "size": measure_size,
    "training": measure_training,
}
