"""Losses: tensors in, a scalar out. They never see a model, a rank or a configuration."""

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
    """By how much a pair must beat its negatives: the hinges and hardest-negative-contrast."""
    temperature: float = 0.1
    """What scores are divided by: multimodal, info-nce and hardest-negative-contrast."""
    directions: str = "halved"
    """info-nce: `halved` (LTD) or `added` (ConVSE)."""
    reduction: str = "mean"
    """Over pairs: `mean`, or `sum` as the published VSE++ and SCAN code has it."""

    def build(self) -> nn.Module:
        if self.loss not in RANKING_LOSSES:
            raise InputError(f"There is no ranking loss '{self.loss}'; choose one of {', '.join(RANKING_LOSSES)}.")
        try:
            return RANKING_LOSSES[self.loss](self)
        except ValueError as error:
            raise InputError(f"The ranking loss {self.loss} cannot be made: {error}.") from error


RANKING_LOSSES: dict[str, Callable[[Contrast], nn.Module]] = {
    "sum-of-hinges": lambda c: SumOfHinges(c.margin, c.reduction),
    "hardest-negative-hinge": lambda c: HardestNegativeHinge(c.margin, c.reduction),
    "multimodal": lambda c: MultimodalContrast(c.temperature, c.reduction),
    "info-nce": lambda c: InfoNCE(c.temperature, c.directions, c.reduction),
    "hardest-negative-contrast": lambda c: HardestNegativeContrast(c.margin, c.temperature, c.reduction),
}
