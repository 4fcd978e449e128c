"""Whether captions tell their images apart, and are true: CIDErBtw, distinct words, CHAIR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.core.types import Images
from tellapart.evaluation.chunks import CHUNK, chunks
from tellapart.metrics.captions.chair import chair_i, chair_s
from tellapart.metrics.captions.cider_between import cider_between
from tellapart.metrics.captions.diversity import FIRST, distinct_words
from tellapart.metrics.captions.neighbours import LOOK_ALIKES, nearest_rows
from tellapart.models.captioners.pretrained import PretrainedCaptionerModel
from tellapart.models.vision import vision_of
from tellapart.objectives.context import Context


class JudgeCaptions(Protocol):
    """A matcher that says how many images captions identify among their look-alikes."""

    def judge(self, image_rows: np.ndarray, captions: Sequence[str], similar: np.ndarray) -> dict[str, float]:
        """Metrics of one caption per image; look-alikes [I, k] are indices of `image_rows`, rows of the pack [I]."""
        ...

    def look_alikes(self, image_rows: np.ndarray) -> np.ndarray | None:
        """The nearest others of each image [I, k] by the judge's own vectors, for captioners that have none."""
        ...


def look_alikes(
    context: Context, image_rows: np.ndarray, count: int = LOOK_ALIKES, model: object = None
) -> np.ndarray | None:
    """[I, k]: for each of these images of the pack, the indices of the nearest others by pooled features.

    A model that reads pixels encodes the images itself. None without features, and for fewer than two images.
    """
    seen = (lambda images: images) if context.store is not None else _image_side(model)
    if seen is None or len(image_rows) < 2:
        return None
    some = chunks(image_rows, context.at_once(CHUNK))
    parts = [seen(context.batches.images(rows)).pooled().float().cpu().numpy() for rows in some]
    return nearest_rows(np.concatenate(parts), count)


def _image_side(model: object) -> Callable[[Images], Images] | None:
    """The part of a model that turns pixels into feature rows; None for a model that has none."""
    if isinstance(model, PretrainedCaptionerModel):
        return lambda images: _as_images(model.rows(images))
    backbone = vision_of(model) if isinstance(model, nn.Module) else None
    return None if backbone is None else backbone.forward


def _as_images(rows: Tensor) -> Images:
    return Images(rows, torch.ones(rows.shape[:2], dtype=torch.bool, device=rows.device))


def distinctive_metrics(
    candidates: Sequence[str], references: Sequence[Sequence[str]], similar: np.ndarray | None
) -> dict[str, float]:
    """CHAIR, distinct words and, with look-alikes [I, k], CIDErBtw of tokenised captions."""
    metrics = {
        "chair_i": chair_i(candidates, references).corpus,
        "chair_s": chair_s(candidates, references).corpus,
        f"distinct_words_{FIRST}": float(distinct_words(candidates)),
    }
    if similar is not None:
        metrics["cider_between"] = cider_between(candidates, references, similar.tolist()).corpus
    return metrics
