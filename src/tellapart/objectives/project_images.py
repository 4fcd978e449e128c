"""The projection of image features to v^, the image's vector of R2M's Eq. 12: random as released, or fitted.

With a random projection, v^ has nothing to do with v~ at the start: retrieval is at chance, and the image stages have
to learn the projection. Fitted by ridge regression to v, the vector of the concepts that a detector found, it puts an
image near what its caption reconstructs. Neither uses a caption.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.data.concepts_column import IMAGE_CONCEPTS
from tellapart.data.sampling import split_rows
from tellapart.models.captioners.r2m import R2MModel
from tellapart.objectives.context import Context
from tellapart.objectives.r2m_parts import concept_column

PROJECTIONS = ("random", "fitted")
CHUNK = 512
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Ridge penalties to choose from, as shares of the features' mean variance."""


def project_images(kind: str, seed: int, model: R2MModel, context: Context) -> tuple[Tensor, Tensor]:
    """The projection [D, d] and what is added after it [d]."""
    if kind not in PROJECTIONS:
        raise InputError(f"image_projection must be one of {', '.join(PROJECTIONS)}, not '{kind}'.")
    if kind == "fitted":
        return fit_projection(model, context)
    random = torch.Generator().manual_seed(seed)
    return torch.randn(context.inputs.feature_width, model.width, generator=random), torch.zeros(model.width)


@torch.no_grad()
def fit_projection(model: R2MModel, context: Context) -> tuple[Tensor, Tensor]:
    """Ridge regression from pooled features to v of the images' concepts, over the training images that have some.

    The penalty is the one whose projections are closest (by cosine) to v on the validation images.
    """
    was_training = model.training
    model.eval()
    train = _pairs(model, context, split_rows(context.pack, context.train_split).images)
    validation = _pairs(model, context, split_rows(context.pack, "val").images)
    model.train(was_training)
    features, vectors = train
    if not len(features):
        raise InputError("No training image has a concept, so that image_projection=fitted has nothing to fit.")
    mean, centre = features.mean(0), vectors.mean(0)
    centred = features - mean
    variances, axes = torch.linalg.eigh(centred.t() @ centred)  # [D], [D, D]
    shared = axes.t() @ (centred.t() @ (vectors - centre))  # [D, d]
    best: tuple[float, Tensor] | None = None
    for penalty in PENALTIES:
        weight = axes @ (shared / (variances.clamp(min=0) + penalty * variances.mean()).unsqueeze(1))  # [D, d]
        seen, wanted = validation if len(validation[0]) else train
        found = (seen - mean) @ weight + centre
        closeness = float(functional.cosine_similarity(found, wanted, dim=1).mean())
        if best is None or closeness > best[0]:
            best = closeness, weight
    assert best is not None
    return best[1].float(), (centre - mean @ best[1]).float()


def _pairs(model: R2MModel, context: Context, rows: np.ndarray) -> tuple[Tensor, Tensor]:
    """Pooled features [I, D] and v [I, d] of images with concepts, in double precision."""
    parts = list(_chunks(model, context, rows))
    width = context.inputs.feature_width
    if not parts:
        return torch.zeros(0, width, dtype=torch.double), torch.zeros(0, model.width, dtype=torch.double)
    return torch.cat([features for features, _ in parts]), torch.cat([vectors for _, vectors in parts])


def _chunks(model: R2MModel, context: Context, rows: np.ndarray) -> Iterator[tuple[Tensor, Tensor]]:
    for first in range(0, len(rows), CHUNK):
        images = context.batches.images(rows[first : first + CHUNK])
        model.to(images.features.device)
        vectors = model.encode(concept_column(images.columns, IMAGE_CONCEPTS))  # [i, d]
        named = vectors.any(1)
        yield images.pooled()[named].double().cpu(), vectors[named].double().cpu()
