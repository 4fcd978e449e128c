"""Contrastive learning (CL, contrastive captioning paper, section 4): a captioner learns against a frozen reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.distributed import global_mean
from tellapart.core.errors import InputError
from tellapart.core.types import Batch, Images, Texts
from tellapart.data.sampling import split_rows
from tellapart.losses.reference_contrast import ReferenceContrast
from tellapart.models.captioners.teacher_forcing import as_captioner
from tellapart.models.decoding import log_prob
from tellapart.objectives.context import Context
from tellapart.objectives.mismatched import MismatchedImages, captions_of
from tellapart.objectives.recordable import Recordable


@dataclass(frozen=True)
class ReferenceContrastLearning:
    """CL: true pairs become likelier than under a frozen reference, mismatched pairs less likely (Eqs. 7-10)."""

    reference: str = "previous"
    """An earlier stage's name, a run folder, or `start` (the model as the stage begins): any captioner with the same
    vocabulary. To replace the reference by the
    best target, add a stage whose reference is the stage before it."""
    rounds: int = 5
    """K: mismatched images drawn per image at each step."""
    nu: float = 1.0
    """nu of r_nu (Eq. 3): h is 1/2 where G is ln nu. A round always has as many mismatched as true pairs."""
    parts: str = "both"
    """both, positive (CL(P)) or negative (CL(N))."""

    def build(self, model: nn.Module, context: Context) -> ReferenceContrastObjective:
        """The objective that trains `model`."""
        if self.rounds < 1:
            raise InputError(f"rounds must be at least 1, not {self.rounds}; for CL(P) set parts=positive.")
        return ReferenceContrastObjective(self, model, context.model(self.reference), context)


class ReferenceContrastObjective(Recordable):
    """See `ReferenceContrastLearning`."""

    known: Tensor

    def __init__(
        self, config: ReferenceContrastLearning, model: nn.Module, reference: nn.Module, context: Context
    ) -> None:
        super().__init__()
        self.config, self.context = config, context
        self.model, self.reference = as_captioner(model), as_captioner(reference)
        self.loss = ReferenceContrast(config.nu, config.parts)
        split = split_rows(context.pack, context.train_split)
        self.images = split.images[[len(context.pack.captions_of[p]) > 0 for p in split.images]]
        self.mismatched = MismatchedImages(self.images)
        # ln p_n of true pairs, by pack row of the caption. The reference never changes, so that a pair is computed when
        # it is first drawn, and only then.
        self.register_buffer("known", torch.full((len(context.pack.owner),), torch.nan))

    def train(self, on: bool = True) -> ReferenceContrastObjective:
        """Set the mode; the reference stays in eval mode, without dropout."""
        super().train(on)
        self.reference.eval()
        return self

    def prepare(self, batch: Batch) -> tuple[Texts, Tensor]:
        """Mismatched captions [N] and the image that each is paired with [N]. In training, the reference also scores
        the batch's true pairs where it has not yet."""
        if self.training and bool(self.known[batch.caption_rows].isnan().any()):
            known = self._reference(batch.images, batch.texts.tokens, batch.owner)
            self.known[batch.caption_rows] = known.to(self.known.dtype)
        return self.mismatched_texts(batch)

    def forward(self, batch: Batch, prepared: tuple[Texts, Tensor] | None = None) -> dict[str, Tensor]:
        """The loss and values to log."""
        texts, owner = self.prepare(batch) if prepared is None else prepared
        tokens = stacked(batch.texts.tokens, texts.tokens)  # [C + N, T]
        owners = torch.cat([batch.owner, owner])
        target_true, target_wrong = torch.split(
            log_prob(self.model, batch.images, tokens, owners), [len(batch.owner), len(owner)]
        )
        reference_true = self.reference_true(batch)
        reference_wrong = self._reference(batch.images, texts.tokens, owner)
        gain = target_true - reference_true
        wrong_gain = target_wrong - reference_wrong
        terms = []
        if self.config.parts != "negative":
            terms.append(self.loss.log_h(target_true, reference_true))
        if self.config.parts != "positive":
            terms.append(self.loss.log_not_h(target_wrong, reference_wrong))
        loss = -sum((global_mean(term.sum(), term.numel()) for term in terms), torch.zeros((), device=gain.device))
        return {"loss": loss, "gain": gain.detach().mean(), "mismatched_gain": wrong_gain.detach().mean()}

    def mismatched_texts(self, batch: Batch) -> tuple[Texts, Tensor]:
        """The captions of K other images per image of the batch, each with as many captions as the image has here."""
        counts = torch.bincount(batch.owner, minlength=len(batch.images)).cpu().numpy()
        own = batch.image_rows.repeat(self.config.rounds)
        others = self.mismatched.draw(own).numpy() if self.training else self._fixed(own.cpu().numpy())
        rows, slots = captions_of(self.context.pack, others, np.tile(counts, self.config.rounds))
        owner = torch.from_numpy(slots % len(batch.images)).to(batch.owner.device)
        return self.context.batches.texts(rows), owner

    def _fixed(self, own: np.ndarray) -> np.ndarray:
        """Other images for validation: the same every time, and without changing the permutation."""
        spread = (own * 7919 + np.arange(len(own)) * 104729) % len(self.images)
        others = self.images[spread]
        return np.where(others == own, self.images[(spread + 1) % len(self.images)], others)

    def reference_true(self, batch: Batch) -> Tensor:
        """ln p_n of the batch's true pairs, from the table in training."""
        if not self.training:
            return self._reference(batch.images, batch.texts.tokens, batch.owner)
        return self.known[batch.caption_rows]

    @torch.no_grad()
    def _reference(self, images: Images, tokens: Tensor, owner: Tensor) -> Tensor:
        return log_prob(self.reference, images, tokens, owner)


def stacked(first: Tensor, second: Tensor) -> Tensor:
    """Two batches of captions as one [C1 + C2, T], padded to the longer."""
    longest = max(first.shape[1], second.shape[1])
    return torch.cat([functional.pad(tokens, (0, longest - tokens.shape[1])) for tokens in (first, second)])
