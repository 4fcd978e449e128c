"""How well a matcher retrieves: encode a split, score all images with all captions in chunks, and measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.protocols import Matcher
from tellapart.core.types import Encoded
from tellapart.data.pack import CAPTION_IDS
from tellapart.data.pack_types import Split
from tellapart.data.sampling import captioned
from tellapart.evaluation.chunks import CHUNK, chunks
from tellapart.metrics.retrieval.bootstrap import intervals
from tellapart.metrics.retrieval.cxc import cxc_positives, cxc_recall, ratings_among, read_cxc
from tellapart.metrics.retrieval.eccv import eccv_metrics, eccv_positives, read_eccv
from tellapart.metrics.retrieval.ndcg import ndcg_rouge
from tellapart.metrics.retrieval.recall import own_captions, r_precision, recall, retrieval_ranks, thousand_folds
from tellapart.objectives.context import Context

NDCG_CAPTIONS = 30_000
"""Most captions for which nDCG is computed. It compares every caption with every other: seconds for 5,000 of them, and
for 25,000 a minute or two on a CPU."""
DEVICE_SCORES = 1 << 28
"""Most scores that are kept on a GPU, where ranks are computed faster."""


@dataclass(frozen=True)
class SplitScores:
    """Scores of all images of a split with all their captions, in the order of the pack."""

    scores: Tensor  # [I, C]
    owner: Tensor  # [C], row of `scores`
    image_rows: np.ndarray  # [I] rows of the pack
    captions: np.ndarray  # [C] rows of the pack


def evaluate_retrieval(model: nn.Module, context: Context, split: str) -> dict[str, float]:
    """R@K in both directions, rsum and median ranks of a split; used during training."""
    found = score_split(model, context, split, on_device=True)
    return recall(found.scores, found.owner)


def evaluate_retrieval_fully(model: nn.Module, context: Context, split: str) -> dict[str, float]:
    """`evaluate_retrieval` with R-precision, nDCG, 95% bootstrap intervals, and 1K folds where they apply."""
    found = score_split(model, context, split, on_device=True)
    texts = [context.pack.captions[row].text for row in found.captions]
    return full_metrics(found, texts)


def full_metrics(found: SplitScores, texts: Sequence[str]) -> dict[str, float]:
    """All metrics of a score matrix; `texts` are its captions, for nDCG."""
    metrics = recall(found.scores, found.owner)
    metrics["i2t_r_precision"] = r_precision(found.scores, own_captions(found.owner, len(found.image_rows)))
    if len(texts) <= NDCG_CAPTIONS:
        metrics["t2i_ndcg_rouge"] = ndcg_rouge(found.scores, texts, found.owner)
    for name, interval in intervals(retrieval_ranks(found.scores, found.owner)).items():
        metrics[f"{name}_low"], metrics[f"{name}_high"] = interval.low, interval.high
    return metrics | thousand_folds(found.scores, found.owner)


def evaluate_with_cxc(model: nn.Module, context: Context, split: str, files: Sequence[Path]) -> dict[str, float]:
    """`evaluate_retrieval_fully`, and recall and R-precision with the positives of CxC files, named `cxc_…`."""
    pack = context.pack
    _check_caption_ids(context, "CxC")
    ratings = [rating for path in files for rating in read_cxc(path)]
    found = score_split(model, context, split)
    names, ids = _coco_names(context, found)
    if not ratings_among(ratings, names, ids):
        raise InputError(
            f"None of the {len(ratings)} CxC ratings is of an image and a caption of the split '{split}' of "
            f"{pack.folder}; sits_val.csv goes with COCO's val split by Karpathy, sits_test.csv with his test split."
        )
    values = full_metrics(found, [pack.captions[row].text for row in found.captions])
    with_cxc = cxc_recall(found.scores, cxc_positives(ratings, names, ids, found.owner))
    return values | {f"cxc_{name}": value for name, value in with_cxc.items()}


def evaluate_with_eccv(model: nn.Module, context: Context, split: str, folder: Path) -> dict[str, float]:
    """`evaluate_retrieval_fully`, and mAP@R, R-precision and R@1 with ECCV Caption's positives, named `eccv_…`."""
    _check_caption_ids(context, "ECCV Caption")
    positives = read_eccv(folder)
    found = score_split(model, context, split)
    names, ids = _coco_names(context, found)
    of_images, of_captions = eccv_positives(positives, names, ids)
    if not of_images.any() and not of_captions.any():
        raise InputError(
            f"None of ECCV Caption's pairs is of an image and a caption of the split '{split}' of "
            f"{context.pack.folder}; they are of COCO's test split by Karpathy."
        )
    values = full_metrics(found, [context.pack.captions[row].text for row in found.captions])
    both = eccv_metrics(found.scores, of_images.to(found.scores.device), of_captions.to(found.scores.device))
    return values | {f"eccv_{name}": value for name, value in both.items()}


def _check_caption_ids(context: Context, files: str) -> None:
    if not context.pack.has_column(CAPTION_IDS):
        raise InputError(
            f"{context.pack.folder} does not have COCO's caption ids, which the files of {files} use; prepare it again "
            "from COCO's or Karpathy's JSON files."
        )


def _coco_names(context: Context, found: SplitScores) -> tuple[list[str], list[int]]:
    """File stems of the images and COCO's ids of the captions of a score matrix."""
    pack = context.pack
    names = [Path(pack.images[row].file or pack.images[row].id).stem for row in found.image_rows]
    return names, pack.column(CAPTION_IDS).values[found.captions].tolist()


def check_retrieval(model: nn.Module, context: Context, split: str) -> tuple[Matcher, Split]:
    """The model and the captioned images to evaluate; raises if the model is not a matcher."""
    if not isinstance(model, Matcher):
        raise InputError(f"Retrieval needs a matcher; {type(model).__name__} is not a matcher.")
    return model, captioned(context.pack, split)


def score_split(model: nn.Module, context: Context, split: str, on_device: bool = False) -> SplitScores:
    """The score matrix of a split. Captions are encoded shortest first, so that there is little padding.

    on_device: leave scores and owner on the context's device, unless there are too many of them.
    """
    matcher, rows = check_retrieval(model, context, split)
    image_rows, captions = rows.images, rows.captions
    owner = torch.from_numpy(np.searchsorted(image_rows, context.pack.owner[captions]))
    lengths = context.pack.offsets[captions + 1] - context.pack.offsets[captions]
    order = np.argsort(lengths, kind="stable")
    each = context.at_once(CHUNK)
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            texts = [matcher.encode_text(context.batches.texts(captions[some])) for some in chunks(order, each)]
            kept = context.device if on_device and len(image_rows) * len(captions) <= DEVICE_SCORES else "cpu"
            parts = [_score_rows(matcher, context, some, texts).to(kept) for some in chunks(image_rows, each)]
    finally:
        model.train(was_training)
    together = torch.cat(parts)
    del parts
    scores = torch.empty_like(together)
    scores[:, torch.from_numpy(order).to(together.device)] = together
    return SplitScores(scores, owner.to(together.device), image_rows, captions)


def _score_rows(model: Matcher, context: Context, image_rows: np.ndarray, texts: list[Encoded]) -> Tensor:
    images = model.encode_image(context.batches.images(image_rows))
    return torch.cat([model.score(images, part).float() for part in texts], dim=1)  # [i, C]
