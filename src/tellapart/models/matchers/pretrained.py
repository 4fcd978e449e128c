"""CLIP-like models of `transformers` (CLIP, SigLIP, …) as matchers, to use as they are or to fine-tune."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.types import Encoded, Images, Texts
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.language_encoder import WordPieces
from tellapart.models.layers.transformers_model import open_transformers_model
from tellapart.models.matchers.scores import cosine, unit


class PretrainedModel(nn.Module):
    """A dual encoder from a folder or hub name. Text enters as word pieces, images as pixels or as stored features.

    Stored features are the vision tower's pooled outputs before its projection. Extract them with this model as the
    backbone; then only the projection and the text side run and train. Pixels are 0 … 255, uint8 or float.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, config: Pretrained, inputs: ModelInputs) -> None:
        super().__init__()
        self.model, tokeniser = open_dual_encoder(config.source, inputs.load_pretrained)
        for name in ("logit_scale", "logit_bias"):  # unused: scores here are cosines, and the loss scales them
            if hasattr(self.model, name):
                getattr(self.model, name).requires_grad_(False)
        self.pieces = WordPieces.of_tokeniser(tokeniser, inputs.vocabulary)
        self.longest = int(self.model.config.text_config.max_position_embeddings)
        # SigLIP reads its last position, and was trained on text padded to full length without a mask.
        self.full_length = not hasattr(self.model, "text_projection")
        self.register_buffer("mean", torch.tensor(config.mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(config.std).view(1, 3, 1, 1), persistent=False)
        self.width = int(getattr(self.model.config, "projection_dim", 0) or self.model.config.vision_config.hidden_size)

    def encode_image(self, images: Images) -> Encoded:
        """Image vectors [I, E] of length one, from pixels or from features."""
        if images.pixels is not None:
            pixels = (images.pixels.float() / 255 - self.mean) / self.std
            vectors = _tensor(self.model.get_image_features(pixel_values=pixels))
        else:
            vectors = self._project(images.pooled())
        return Encoded(unit(vectors))

    def encode_text(self, texts: Texts) -> Encoded:
        """Caption vectors [C, E] of length one."""
        pieces, mask = self.pieces(texts.tokens)
        pieces, mask = pieces[:, : self.longest], mask[:, : self.longest]
        if self.full_length:
            pieces = nn.functional.pad(pieces, (0, self.longest - pieces.shape[1]), value=self.pieces.padding)
            return Encoded(unit(_tensor(self.model.get_text_features(input_ids=pieces))))
        pieces = pieces.masked_fill(~mask, self.pieces.padding)
        vectors = self.model.get_text_features(input_ids=pieces, attention_mask=mask.long())
        return Encoded(unit(_tensor(vectors)))

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """Cosines [I, C]."""
        return cosine(images.vectors, texts.vectors)

    def _project(self, pooled: Tensor) -> Tensor:
        projection = getattr(self.model, "visual_projection", None)
        expected = self.model.config.vision_config.hidden_size
        if pooled.shape[1] != expected:
            raise InputError(
                f"The features are {pooled.shape[1]} wide, but this model's vision tower gives {expected}; "
                "extract them with this model as the backbone, or give pixels."
            )
        return pooled if projection is None else projection(pooled)


def _tensor(features: Any) -> Tensor:
    """The features; newer versions of transformers wrap them in an output object."""
    return features if isinstance(features, Tensor) else features.pooler_output


def open_dual_encoder(source: str, pretrained: bool) -> tuple[Any, Any]:
    """(model, tokeniser) of a CLIP-like folder or name; with random weights unless `pretrained`."""
    model, tokeniser = open_transformers_model(source, pretrained, "CLIP-like model")
    if not hasattr(model, "get_text_features") or not hasattr(model, "get_image_features"):
        raise InputError(f"'{source}' is a {type(model).__name__}, which has no image and text encoder.")
    return model, tokeniser


@dataclass(frozen=True)
class Pretrained:
    """Any CLIP-like `transformers` model (CLIP, SigLIP); freeze a side with the prefix model.vision_model or
    model.text_model."""

    source: str = "openai/clip-vit-base-patch32"
    """Folder or hub name. Opening a run needs the folder again, for its architecture and tokeniser."""
    mean: tuple[float, float, float] = (0.48145466, 0.4578275, 0.40821073)
    """Mean of pixels (0 … 1): CLIP's; SigLIP has 0.5 for all three."""
    std: tuple[float, float, float] = (0.26862954, 0.26130258, 0.27577711)
    """Standard deviation of pixels: CLIP's; SigLIP has 0.5 for all three."""

    def build(self, inputs: ModelInputs) -> PretrainedModel:
        """The model, with random or pretrained weights."""
        return PretrainedModel(self, inputs)
