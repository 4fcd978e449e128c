"""Losses: tensors in, tensor out. They never see a model, a rank or a configuration.

Ranking losses, chosen by name with `Contrast`: `hinge.py` (VSE, VSE++), `info_nce.py` (LTD, ConVSE),
`hardest_negative_contrast.py` (ConVSE++), `multimodal_contrast.py` (MVN), `unmasked_hinge.py` (R2M's code).
Captioning: `likelihood.py`, `reference_contrast.py` (CL), `policy_gradient.py` (SCST), `attention.py` (POS-SCAN).
Latent target decoding: `reconstruction.py`, `lagrange_constraint.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from tellapart.core.errors import InputError
from tellapart.losses.hardest_negative_contrast import HardestNegativeContrast
from tellapart.losses.hinge import HardestNegativeHinge, SumOfHinges
from tellapart.losses.info_nce import InfoNCE
from tellapart.losses.multimodal_contrast import MultimodalContrast


@dataclass(frozen=True)
class Contrast:
    """A ranking loss by name, with its settings; see docs/which-loss.md."""

    loss: str = "hardest-negative-hinge"
    """sum-of-hinges (VSE), hardest-negative-hinge (VSE++), multimodal (MVN), info-nce (LTD; ConVSE with
    directions added), hardest-negative-contrast (ConVSE++)."""
    margin: float = 0.2
    """Difference by which a pair must beat its negatives: the hinges and hardest-negative-contrast."""
    temperature: float = 0.1
    """Divides the scores: multimodal, info-nce and hardest-negative-contrast."""
    directions: str = "halved"
    """info-nce: `halved` (LTD) or `added` (ConVSE)."""
    reduction: str = "mean"
    """Over pairs: `mean`, or `sum` as in the published VSE++ and SCAN code."""

    def build(self) -> nn.Module:
        """The loss module."""
        if self.loss not in RANKING_LOSSES:
            raise InputError(f"Unknown ranking loss '{self.loss}'; choose one of {', '.join(RANKING_LOSSES)}.")
        try:
            return RANKING_LOSSES[self.loss](self)
        except ValueError as error:
            raise InputError(f"Ranking loss {self.loss}: {error}.") from error


RANKING_LOSSES: dict[str, Callable[[Contrast], nn.Module]] = {
    "sum-of-hinges": lambda c: SumOfHinges(c.margin, c.reduction),
    "hardest-negative-hinge": lambda c: HardestNegativeHinge(c.margin, c.reduction),
    "multimodal": lambda c: MultimodalContrast(c.temperature, c.reduction),
    "info-nce": lambda c: InfoNCE(c.temperature, c.directions, c.reduction),
    "hardest-negative-contrast": lambda c: HardestNegativeContrast(c.margin, c.temperature, c.reduction),
}
