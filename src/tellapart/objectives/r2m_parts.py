"""Parts that R2M's objectives share: the model check, concept columns, L_rec, and greedy captions from given states."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError, Step
from tellapart.core.types import Images, State
from tellapart.core.types import Step as CaptionStep
from tellapart.models.captioners.r2m import R2MModel
from tellapart.models.decoding import greedy, with_start


class SquaredDistance(nn.Module):
    """L_rec: ||v - v~||^2 per row, or its mean over the width."""

    def __init__(self, distance: str) -> None:
        super().__init__()
        if distance not in ("sum", "mean"):
            raise InputError(f"distance must be 'sum' or 'mean', not '{distance}'.")
        self.distance = distance

    def forward(self, target: Tensor, rebuilt: Tensor) -> Tensor:
        """v [N, d], v~ [N, d] -> loss [N]."""
        squares = (target - rebuilt).pow(2)
        return squares.mean(1) if self.distance == "mean" else squares.sum(1)


class StartedCaptioner:
    """A captioner that starts from given states, so that generating and reading share one dropout mask."""

    def __init__(self, model: R2MModel, state: State) -> None:
        self.model, self.state = model, state

    def start(self, images: Images) -> State:
        """The given state."""
        return self.state

    def step(self, word: Tensor, state: State) -> CaptionStep:
        """The model's step."""
        return self.model.step(word, state)


@torch.no_grad()
def greedy_captions(model: R2MModel, vectors: Tensor, images: Images, longest: int) -> Tensor:
    """Greedy captions START … END PAD [N, T] for encoded concepts [N, d]."""
    return with_start(greedy(StartedCaptioner(model, model.begin(vectors)), images, longest).tokens)  # type: ignore[arg-type]


def concept_column(columns: Mapping[str, Tensor], name: str) -> Tensor:
    """The column `name`; an error if it is missing."""
    if name not in columns:
        raise InputError(
            f"The batches have no column '{name}'; annotate concepts and add it to the stage's sampling.columns.",
            Step("annotate", "PACK", concepts=True),
        )
    return columns[name]


def check_r2m(model: nn.Module) -> R2MModel:
    """The model; an error if it is not R2M."""
    if not isinstance(model, R2MModel):
        raise InputError(f"This objective trains R2M, not {type(model).__name__}.")
    return model
