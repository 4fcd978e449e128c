"""Protocols of a matcher, a captioner and an objective. Models implement them without inheriting from them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor

from tellapart.core.types import Batch, Encoded, Forced, Images, State, Step, Texts


@runtime_checkable
class Matcher(Protocol):
    """Scores how well images and captions match. Everything else needs only `score`."""

    def encode_image(self, images: Images) -> Encoded:
        """One vector per image, or one per region."""
        ...

    def encode_text(self, texts: Texts) -> Encoded:
        """One vector per caption, or one per word."""
        ...

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """Scores [I, C]; higher is a better match."""
        ...


@runtime_checkable
class Captioner(Protocol):
    """Generates a caption word by word. `start` and `step` define it; `forward` is a faster path with equal results."""

    def start(self, images: Images) -> State:
        """The state before the first word; the first `step` reads START."""
        ...

    def step(self, word: Tensor, state: State) -> Step:
        """Read one word [N] and predict the next."""
        ...

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        """Teacher forcing: `images` has one row per caption of `tokens` [C, T]; predicts tokens[:, 1:]."""
        ...


@runtime_checkable
class Objective(Protocol):
    """Model(s) and a loss: an nn.Module whose `forward(batch)` returns {"loss": scalar, …} with values to log.

    It may hold a frozen reference or teacher and buffers (a running permutation, a multiplier); checkpoints include
    them. `model` is the part that is kept when training ends.
    """

    def __call__(self, batch: Batch) -> dict[str, Tensor]: ...
