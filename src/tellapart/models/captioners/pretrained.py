"""Captioners of `transformers` (BLIP, GIT, ViT-GPT2) with `start` and `step`, to use or to tune."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.hub import quietly, transformers
from tellapart.core.types import Forced, Images, State, Step
from tellapart.models.captioners.teacher_forcing import HiddenSequence
from tellapart.models.hub.decoders import FAMILIES, Read, patch_boxes, patches
from tellapart.models.hub.reading import HubModel
from tellapart.models.hub.source import open_weights, read_config
from tellapart.models.inputs import ModelInputs
from tellapart.text.model_tokenizer import SHIFT
from tellapart.text.vocabulary import END, PAD, START


class PretrainedCaptionerModel(nn.Module):
    """A captioner from a folder or hub name, over its own tokenizer's pieces.

    Images are the inputs that its own processor makes (in `columns`), pixels 0 … 255 of its size, or features: the rows
    of its image encoder.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, config: PretrainedCaptioner, inputs: ModelInputs) -> None:
        super().__init__()
        source = str(inputs.assets or config.source)
        settings = read_config(source)
        if settings.model_type not in FAMILIES:
            raise InputError(
                f"'{config.source}' is a model of kind {settings.model_type}; captioners to train are of the kinds "
                f"{', '.join(FAMILIES)}."
            )
        self.family = FAMILIES[settings.model_type]
        loader = getattr(transformers(), self.family.loader)
        self.model = open_weights(loader, source, settings, inputs.load_pretrained)
        if self.family.attends and hasattr(self.model, "set_attn_implementation"):
            with quietly():  # BLIP's is always the eager one
                self.model.set_attn_implementation("eager")  # other implementations give no attention weights
        self.family.prepare(self.model)
        self.reading = config.reading(inputs)
        self.first, self.last = self.family.pieces(settings)
        self.pieces = int(self._words().shape[0])
        self.image_state = ("image_keys",) if self.family.attends else ("image_rows",)
        mean, std = (0.5,) * 3, (0.5,) * 3
        if self.reading.processor is not None:
            found = self.reading.processor.preprocessing()
            mean, std = found.mean, found.std
        self.register_buffer("mean", torch.tensor(mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(1, 3, 1, 1), persistent=False)

    def rows(self, images: Images) -> Tensor:
        """Rows [I, R, D] of the image encoder."""
        if "pixel_values" in images.columns:
            return self.family.rows(self.model, images.columns["pixel_values"].to(self.mean.dtype))
        if images.pixels is not None:
            return self.family.rows(self.model, (images.pixels.to(self.mean.dtype) / 255 - self.mean) / self.std)
        return images.features.to(self.mean.dtype)

    def boxes(self, rows: int) -> Tensor:
        """Boxes [R, 4] of the rows, in fractions of what the model sees."""
        return patch_boxes(rows)

    def start(self, images: Images) -> State:
        """The rows of the image, and an empty prefix."""
        rows = self.rows(images)
        prefix = torch.zeros(len(rows), 0, dtype=torch.long, device=rows.device)
        return {self.image_state[0]: rows, "prefix": prefix}

    def step(self, word: Tensor, state: State) -> Step:
        """Read one token [N] and predict the next."""
        rows = state[self.image_state[0]]
        prefix = torch.cat([state["prefix"], self._pieces(word).unsqueeze(1)], 1)
        attends = self.family.attends and not self.training
        each = len(prefix) // max(len(rows), 1)
        shown = rows.repeat_interleave(each, 0) if each > 1 else rows
        found = self.family.read(self.model, shown, prefix, attends)
        attention = None if found.attention is None else self._over_patches(found.attention[:, -1])
        return Step(self._tokens(found.logits[:, -1]), {**state, "prefix": prefix}, attention)

    def read(self, state: State, tokens: Tensor) -> HiddenSequence:
        """Predictions for whole captions [C, T]: the hidden vectors are the logits themselves."""
        found = self._read(state, tokens)
        return HiddenSequence(self._tokens(found.logits))

    def attend(self, rows: Tensor, tokens: Tensor) -> Forced:
        """Predictions for whole captions [C, T], with the attention of each over the rows [C, R, D] of its image."""
        found = self.family.read(self.model, rows, self._pieces(tokens[:, :-1]), True)
        assert found.attention is not None
        return Forced(self._tokens(found.logits), self._over_patches(found.attention))

    def logits(self, hidden: Tensor) -> Tensor:
        """The scores of tokens, which `read` has computed already."""
        return hidden

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        """Teacher forcing; `images` has one row per caption."""
        return Forced(self.read(self.start(images), tokens).hidden)

    def _read(self, state: State, tokens: Tensor) -> Read:
        return self.family.read(self.model, state[self.image_state[0]], self._pieces(tokens[:, :-1]), False)

    def _pieces(self, tokens: Tensor) -> Tensor:
        """Tokens as pieces of the tokenizer; what follows END does not count."""
        pieces = (tokens - SHIFT).clamp(min=0)
        pieces = torch.where(tokens == START, self.first, pieces)
        return torch.where((tokens == END) | (tokens == PAD), self.last, pieces)

    def _tokens(self, logits: Tensor) -> Tensor:
        """Scores of pieces [..., P] as scores of tokens [..., P + 4]: the last piece is END."""
        end = logits[..., self.last : self.last + 1]
        never = torch.full_like(end, -torch.inf)
        before, after = logits[..., : self.last], logits[..., self.last + 1 :]
        missing = len(self.reading.vocabulary) - SHIFT - logits.shape[-1]
        unused = never.expand(*never.shape[:-1], max(0, missing))
        return torch.cat([never, never, end, never, before, never, after, unused], -1)

    def _over_patches(self, attention: Tensor) -> Tensor:
        """[..., R] with the shares of class rows removed: they stand for the whole image."""
        extra, _ = patches(attention.shape[-1])
        return torch.cat([torch.zeros_like(attention[..., :extra]), attention[..., extra:]], -1)

    def _words(self) -> Tensor:
        table: Tensor = (
            (self.model.decoder if hasattr(self.model, "decoder") else self.model).get_input_embeddings().weight
        )
        return table


@dataclass(frozen=True)
class PretrainedCaptioner(HubModel):
    """A captioner of `transformers` (BLIP, GIT, VisionEncoderDecoder), over its own tokenizer's pieces."""

    source: str = "Salesforce/blip-image-captioning-base"
    """Folder or hub name. A run stores what it needs to be opened without it."""

    def build(self, inputs: ModelInputs) -> PretrainedCaptionerModel:
        """The model, with random or pretrained weights."""
        return PretrainedCaptionerModel(self, inputs)
