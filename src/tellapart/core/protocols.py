"""What a matcher, a captioner and an objective are. Protocols only: nothing here runs, nothing is inherited."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor

from tellapart.core.types import Batch, Encoded, Forced, Images, State, Step, Texts


@runtime_checkable
class Matcher(Protocol):
    """Tells how well images and sentences fit. Everything downstream asks only for `score`."""

    def encode_image(self, images: Images) -> Encoded: ...

    def encode_text(self, texts: Texts) -> Encoded: ...

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """[I, C]: higher fits better."""
        ...


@runtime_checkable
class Captioner(Protocol):
    """Writes a sentence word by word. `start` and `step` are the truth; `forward` is the fast path, equal to them."""

    def start(self, images: Images) -> State:
        """The memory before the first word; give START to the first `step`."""
        ...

    def step(self, word: Tensor, state: State) -> Step:
        """Reads one word [N] and predicts the next."""
        ...

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        """Teacher forcing: `images` has a row for each of `tokens` [C, T] (START … END PAD); predicts tokens[:, 1:]."""
        ...


@runtime_checkable
class Objective(Protocol):
    """Model(s) and a loss: an nn.Module whose `forward(batch)` gives {"loss": scalar, …} and what is worth logging.

    It may hold a frozen reference or teacher and its own buffers (a running permutation, a multiplier): all of that is
    saved and restored with it. `model` is the part that is kept when training ends.
    """

    def __call__(self, batch: Batch) -> dict[str, Tensor]: ...
