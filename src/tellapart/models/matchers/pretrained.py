"""Dual encoders of `transformers` (CLIP, SigLIP, SigLIP 2, ALIGN, Chinese-CLIP, …) as matchers, to use or to tune."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.hub import transformers
from tellapart.core.types import Encoded, Images, Texts
from tellapart.data.sampling import LATER
from tellapart.models.hub.pieces import as_pieces
from tellapart.models.hub.reading import HubModel, OwnReading
from tellapart.models.hub.source import open_weights, read_config, role_of
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.convse_heads import convse_heads
from tellapart.models.matchers.scores import cosine, unit

FULL_LENGTH = 64
"""Pieces to which SigLIP's and SigLIP 2's texts are padded."""


class PretrainedModel(nn.Module):
    """A dual encoder from a folder or hub name. Text has its own tokenizer's ids (`TokenizerVocabulary`).

    Images are the inputs that its own processor makes (in `columns`), pixels 0 … 255 of its size, or features: the
    vision tower's pooled outputs before its projection. Of features, only the projection and the text side run.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, config: Pretrained, inputs: ModelInputs) -> None:
        super().__init__()
        source = str(inputs.assets or config.source)
        self.model = open_dual_encoder(source, inputs.load_pretrained)
        self.reading = config.reading(inputs)
        for name in (
            "logit_scale",
            "logit_bias",
            "temperature",
        ):  # unused: scores are cosines, and the loss scales them
            if hasattr(self.model, name):
                getattr(self.model, name).requires_grad_(False)
        sizes = self.model.config.text_config
        self.longest = int(getattr(sizes, "max_position_embeddings", 0) or FULL_LENGTH)
        # SigLIP reads its last position, and was trained on text padded to full length without a mask.
        self.full_length = str(self.model.config.model_type).startswith("siglip")
        mean, std = _mean_and_std(config, self.reading)
        self.register_buffer("mean", torch.tensor(mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(1, 3, 1, 1), persistent=False)
        projection = getattr(self.model, "visual_projection", None)
        self.tower_width = _tower_width(self.model)
        self.width = self.tower_width if projection is None else int(projection.out_features)
        self.image_head: nn.Module = nn.Identity()
        self.text_head: nn.Module = nn.Identity()
        if config.heads:
            self.image_head, self.text_head = convse_heads(self.width, config.heads, self.width, config.heads_start)

    def tower(self, images: Images) -> Tensor:
        """The vision tower's pooled outputs [I, H], before the projection."""
        if "pixel_values" in images.columns:
            names = ("pixel_values", "pixel_attention_mask", "spatial_shapes")
            given = {name: images.columns[name] for name in names if name in images.columns}
            given["pixel_values"] = given["pixel_values"].to(self.mean.dtype)
        elif images.pixels is not None:
            given = {"pixel_values": (images.pixels.to(self.mean.dtype) / 255 - self.mean) / self.std}
        else:
            return self._checked(images.pooled().to(self.mean.dtype))
        pooled: Tensor = self.model.vision_model(**given).pooler_output
        return pooled.flatten(1)

    def encode_image(self, images: Images) -> Encoded:
        """Image vectors [I, E] of length one."""
        pooled = self.tower(images)
        projection = getattr(self.model, "visual_projection", None)
        vectors = pooled if projection is None else projection(pooled)
        return Encoded(unit(self.image_head(vectors)))

    def encode_text(self, texts: Texts) -> Encoded:
        """Caption vectors [C, E] of length one."""
        vocabulary = self.reading.vocabulary
        padding = vocabulary.tokenizer.pad_token_id or 0
        most = self.text_length
        pieces, mask = as_pieces(texts.tokens, vocabulary.first, vocabulary.last, padding, most)
        if self.full_length:
            pieces = nn.functional.pad(pieces, (0, most - pieces.shape[1]), value=padding)
            found = self.text_features(input_ids=pieces)
        else:
            found = self.text_features(input_ids=pieces, attention_mask=mask.long())
        return Encoded(unit(self.text_head(found)))

    @property
    def text_length(self) -> int:
        """Most pieces of a text."""
        return min(self.longest, FULL_LENGTH) if self.full_length else self.longest

    def text_features(self, **inputs: Tensor) -> Tensor:
        """The text encoder's vectors [C, E] of what a tokenizer gives."""
        return _tensor(self.model.get_text_features(**inputs))

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """Cosines [I, C]."""
        return cosine(images.vectors, texts.vectors)

    def scale(self) -> Tensor:
        """The factor of cosines that the model has learned: one over its temperature."""
        if hasattr(self.model, "temperature"):
            return torch.as_tensor(1 / self.model.temperature.detach())
        return torch.as_tensor(self.model.logit_scale.detach().exp())

    def _checked(self, pooled: Tensor) -> Tensor:
        if pooled.shape[1] != self.tower_width:
            raise InputError(
                f"The features are {pooled.shape[1]} wide, but this model's vision tower gives {self.tower_width}; "
                "extract them with this model as the backbone, or give pixels."
            )
        return pooled

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # Runs of earlier versions store how words of the pack were cut into pieces.
        for name in ("pieces.table", "pieces.counts"):
            state_dict.pop(prefix + name, None)
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _mean_and_std(config: Pretrained, reading: OwnReading) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if reading.processor is None:
        return config.mean, config.std
    try:
        found = reading.processor.preprocessing()
    except InputError:  # patches instead of squares (SigLIP 2): pixels are not read
        return config.mean, config.std
    return found.mean, found.std


def _tower_width(model: Any) -> int:
    projection = getattr(model, "visual_projection", None)
    if projection is not None:
        return int(projection.in_features)
    if model.config.model_type == "align":
        return int(model.config.projection_dim)
    return int(model.config.vision_config.hidden_size)


def _tensor(features: Any) -> Tensor:
    """The features; newer versions of transformers wrap them in an output object."""
    return features if isinstance(features, Tensor) else features.pooler_output


def open_dual_encoder(source: str, pretrained: bool) -> Any:
    """The model of a folder or name with an image and a text encoder; with random weights unless `pretrained`."""
    config = read_config(source)
    if role_of(config) != "matcher":
        raise InputError(
            f"'{source}' is a model of kind {config.model_type}, which has no image and text encoder; give CLIP, "
            "SigLIP, ALIGN or Chinese-CLIP."
        )
    model = open_weights(transformers().AutoModel, source, config, pretrained)
    if not hasattr(model, "get_text_features") or not hasattr(model, "vision_model"):
        raise InputError(f"'{source}' is a {type(model).__name__}, which has no image and text encoder.")
    return model


@dataclass(frozen=True)
class Pretrained(HubModel):
    """A dual encoder of `transformers` (CLIP, SigLIP, ALIGN, Chinese-CLIP); freeze a side with the prefix
    model.vision_model or model.text_model."""

    source: str = "openai/clip-vit-base-patch32"
    """Folder or hub name. A run stores what it needs to be opened without it."""
    mean: tuple[float, float, float] = (0.48145466, 0.4578275, 0.40821073)
    """Mean of pixels (0 … 1) for a model that has no image processor."""
    std: tuple[float, float, float] = (0.26862954, 0.26130258, 0.27577711)
    """Standard deviation of pixels for a model that has no image processor."""
    heads: int = field(default=0, metadata=LATER)
    """Hidden width of ConVSE's projection heads on both sides; 0: no heads."""
    heads_start: str = field(default="identity", metadata=LATER)
    """First weights of the heads: identity (`heads` must be twice the embedding), shared or independent."""

    def build(self, inputs: ModelInputs) -> PretrainedModel:
        """The model, with random or pretrained weights."""
        return PretrainedModel(self, inputs)


def size_of(reading: OwnReading, config: Mapping[str, Any] | Any) -> int:
    """Side in pixels of the squares that a model reads."""
    vision = getattr(config, "vision_config", None) or getattr(config, "encoder", None) or config
    size = getattr(vision, "image_size", 0)
    side = size[0] if isinstance(size, list | tuple) else size
    if reading.processor is not None:
        try:
            return reading.processor.preprocessing().size
        except InputError:
            pass
    return int(side or 224)
