"""Input target decoding: reconstruct the caption from its own vector (ITD) or from the image's regions (VSRN)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from tellapart.core.distributed import global_mean
from tellapart.core.errors import InputError
from tellapart.core.types import Batch
from tellapart.losses import Contrast
from tellapart.models.layers.sentence_decoder import RegionsToSentence, VectorToSentence
from tellapart.objectives.context import Context
from tellapart.objectives.extra_loss import ExtraLoss, Joining
from tellapart.objectives.latent_target import caption_width
from tellapart.objectives.ranking import checked, encode, rank
from tellapart.objectives.recordable import Recordable
from tellapart.text.vocabulary import PAD

VOCABULARY, TIME = 2, 1
"""Axes of logits [C, T, V]."""


class InputTargetObjective(Recordable):
    """L_con plus the negative log-likelihood of the caption (LTD paper, Eqs. 3, 4, 7 and 9)."""

    def __init__(
        self, model: nn.Module, loss: nn.Module, decoder: VectorToSentence | RegionsToSentence, join: ExtraLoss,
        softmax_over: int, per_token: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.model = checked(model)
        self.loss = loss
        self.decoder = decoder
        self.join = join
        self.softmax_over, self.per_token = softmax_over, per_token

    def forward(self, batch: Batch, prepared: Any = None) -> dict[str, Tensor]:
        """The loss and values to log."""
        images, texts = encode(self.model, batch)
        ranked = rank(self.model, self.loss, images, texts, batch.owner)
        tokens = batch.texts.tokens
        if isinstance(self.decoder, RegionsToSentence):
            regions = self.model.encode_regions(batch.images).select(batch.owner)  # type: ignore[operator]
            assert regions.mask is not None
            logits = self.decoder(regions.vectors, regions.mask, tokens)
        else:
            logits = self.decoder(texts.vectors, tokens)
        joined = self.join(ranked["loss"], self.likelihood(logits, tokens[:, 1:]), len(tokens))
        return {**ranked, "contrast": ranked["loss"].detach(), **joined}

    def likelihood(self, logits: Tensor, words: Tensor) -> Tensor:
        """-log p of the words [C, T] under logits [C, T, V], with END and without PAD: a scalar (Eq. 4).

        The sum over a caption's words and the mean over captions; with `per_token`, the mean over words.
        """
        real = words != PAD
        shares = torch.log_softmax(logits, dim=self.softmax_over)
        costs = -shares.gather(2, words.unsqueeze(2)).squeeze(2).masked_fill(~real, 0)  # [C, T]
        return global_mean(costs.sum(), real.sum() if self.per_token else len(words))


@dataclass(frozen=True)
class InputTarget:
    """Ranking with input target decoding (LTD paper, section 3.3), or with VSRN's caption decoder (`from_regions`)."""

    contrast: Contrast = field(default_factory=lambda: Contrast("info-nce", temperature=0.05))
    """L_con."""
    joining: Joining = field(default_factory=Joining)
    """Dual loss or constraint."""
    from_regions: bool = False
    """Decode from the image's regions instead, as VSRN does; its weight there is 1, with no bound."""
    per_token: bool = False
    """False: the sum over a caption's words, as in Eq. 4 and in the released code. True: the mean over words; a bound
    above the entropy of single words (about 5 nats) is then met by a decoder that ignores the caption's vector."""
    word_width: int = 300
    """Width of the decoder's word vectors."""
    hidden: int = 1024
    """Width of the GRU decoder."""
    compat: str = "paper"
    """code: softmax over time instead of over words, as in LTD's released decoder."""

    def build(self, model: nn.Module, context: Context) -> InputTargetObjective:
        """The objective that trains `model`."""
        if self.compat not in ("paper", "code"):
            raise InputError(f"compat must be 'paper' or 'code', not '{self.compat}'.")
        words = len(context.inputs.vocabulary)
        decoder: VectorToSentence | RegionsToSentence
        if self.from_regions:
            if not hasattr(model, "encode_regions"):
                raise InputError(f"{type(model).__name__} gives no regions to decode captions from; use VSRN.")
            decoder = RegionsToSentence(caption_width(model, "This"), words, self.word_width, self.hidden)
        else:
            width = caption_width(model, "Input target decoding")
            decoder = VectorToSentence(width, words, self.word_width, self.hidden)
        over = TIME if self.compat == "code" else VOCABULARY
        return InputTargetObjective(model, self.contrast.build(), decoder, self.joining.build(), over, self.per_token)
