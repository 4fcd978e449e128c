"""One backbone for a matcher and a captioner, trained by both at once (as in CoCa, Yu et al. 2022, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.types import Images
from tellapart.losses.info_nce import InfoNCE
from tellapart.models.captioners.transformer import TransformerCaptioner
from tellapart.models.matchers.dual_encoder import DualEncoderModel
from tellapart.text.vocabulary import PAD, UNK


class JointModel(nn.Module):
    """Backbone, matcher and, where there is one, captioner."""

    def __init__(self, backbone: nn.Module, matcher: DualEncoderModel, captioner: TransformerCaptioner | None) -> None:
        super().__init__()
        self.backbone, self.matcher, self.captioner = backbone, matcher, captioner

    def cells(self, pixels: Tensor) -> Tensor:
        """Feature rows [I, R, D] of normalised pixels [I, 3, S, S], one for each cell of the backbone's map."""
        return as_cells(self.backbone(pixels))


def as_cells(grid: Tensor) -> Tensor:
    """[I, D, H, W] -> [I, H W, D]."""
    return grid.flatten(2).transpose(1, 2)


def all_real(cells: Tensor) -> Images:
    """Feature rows as images in which every row is real."""
    return Images(cells, _all(cells))


def _all(cells: Tensor) -> Tensor:
    return torch.ones(cells.shape[:2], dtype=torch.bool, device=cells.device)


def likelihood_loss(captioner: TransformerCaptioner, cells: Tensor, tokens: Tensor, smoothing: float) -> Tensor:
    """Cross-entropy of captions [I, k, T] with label smoothing; PAD and UNK are no targets."""
    tokens = tokens.flatten(0, 1)  # [C, T]
    hidden = captioner.read(captioner.start(all_real(cells)), tokens).hidden
    targets = tokens[:, 1:].flatten()
    targets = torch.where(targets == UNK, PAD, targets)
    logits = captioner.logits(hidden).flatten(0, 1)
    return functional.cross_entropy(logits.float(), targets, ignore_index=PAD, label_smoothing=smoothing)


def contrastive_loss(
    matcher: DualEncoderModel, cells: Tensor, texts: Tensor, read: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """InfoNCE between cells [I, R, D] and captions [I, k, P], which `read` turns into vectors."""
    captions = texts.flatten(0, 1)
    images = matcher.image_vectors(cells, _all(cells))
    owner = torch.arange(len(texts), device=texts.device).repeat_interleave(texts.shape[1])
    vectors = read(captions, captions != PAD)
    with torch.autocast(cells.device.type, enabled=False):  # cosines in bfloat16 would differ by a whole logit
        scores = images.float() @ vectors.float().t() * matcher.scale()
        loss: Tensor = InfoNCE(1.0)(scores, owner)
        return loss


@dataclass(frozen=True)
class LossWeights:
    """How much each loss counts, and how smooth the words' targets are."""

    contrastive: float = 1.0
    likelihood: float = 1.0
    smoothing: float = 0.1


@dataclass
class Parts:
    """The costly functions of a step, compiled or not."""

    backbone: Callable[[Tensor], Tensor]
    text: Callable[[Tensor, Tensor], Tensor]
    likelihood: Callable[[Tensor, Tensor], Tensor] | None
    compiled: bool

    @classmethod
    def of(cls, model: JointModel, weights: LossWeights, compiled: bool) -> Parts:
        captioner = model.captioner

        def likelihood(cells: Tensor, tokens: Tensor) -> Tensor:
            assert captioner is not None
            return likelihood_loss(captioner, cells, tokens, weights.smoothing)

        functions: list[Any] = [model.backbone, model.matcher.text_vectors, likelihood]
        if compiled:
            functions = [torch.compile(function, dynamic=False) for function in functions]
        return cls(functions[0], functions[1], functions[2] if captioner else None, compiled)


def joint_loss(
    model: JointModel, parts: Parts, weights: LossWeights, pixels: Tensor, texts: Tensor, words: Tensor
) -> dict[str, Tensor]:
    """Losses of pixels [I, 3, S, S] with matcher tokens [I, k, P] and captioner tokens [I, c, T]."""
    cells = as_cells(parts.backbone(pixels))
    losses = {"contrastive": contrastive_loss(model.matcher, cells, texts, parts.text)}
    loss = weights.contrastive * losses["contrastive"]
    if parts.likelihood is not None:
        losses["likelihood"] = parts.likelihood(cells, words)
        loss = loss + weights.likelihood * losses["likelihood"]
    return {"loss": loss, **losses}
