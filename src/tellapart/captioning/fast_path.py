"""The captioners' fast path: start once a picture, read whole sentences, predict words only where a word
stands.

`forward` of the Captioner protocol is `logits(read(start(images), tokens).hidden)`. Taken apart, a picture
with five captions is projected once, and the vocabulary layer (the widest of all) skips the padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from tellapart.captioning.words import WordTable
from tellapart.errors import InputError
from tellapart.protocols import Captioner
from tellapart.text.vocabulary import PAD
from tellapart.types import Images, State, Step


@dataclass(frozen=True)
class Read:
    """What a captioner holds after each word of a given sentence: row t predicts token t + 1."""

    hidden: Tensor  # [C, T - 1, H]
    attention: Tensor | None = None  # [C, T - 1, R]


@dataclass(frozen=True)
class Heard:
    """A captioner one word further, before it predicts the next: `logits(hidden)` are the step's."""

    hidden: Tensor  # [N, H]
    state: State
    attention: Tensor | None = None  # [N, R]


@runtime_checkable
class FastCaptioner(Protocol):
    """A captioner that reads whole sentences from a started state. `read` and `logits` together equal
    `step`."""

    picture_state: tuple[str, ...]
    """Names in the state that depend on the picture alone: beams of one picture need not exchange them."""

    def start(self, images: Images) -> State: ...

    def step(self, word: Tensor, state: State) -> Step: ...

    def read(self, state: State, tokens: Tensor) -> Read: ...

    def logits(self, hidden: Tensor) -> Tensor: ...


@runtime_checkable
class SharedCaptioner(FastCaptioner, Protocol):
    """A captioner that can hear the same words for many pictures at once, and whose word table is in the open."""

    words: WordTable

    def advance(self, words: Tensor, state: State) -> Heard:
        """Words [n] for a state of P * n rows, picture by picture: row p * n + i hears words[i]."""
        ...


@dataclass(frozen=True)
class Predictions:
    """One row for each true word of some sentences (END among them), padding left out."""

    logits: Tensor  # [M, V]
    targets: Tensor  # [M] the words that stand there
    mask: Tensor  # [C, T - 1] bool: where the M rows belong
    attention: Tensor | None = None  # [C, T - 1, R]


def as_captioner(model: nn.Module) -> Any:
    """The model itself once it is known to be a captioner; an nn.Module's own type says nothing of its methods."""
    if not isinstance(model, Captioner):
        raise InputError(
            f"{type(model).__name__} is no captioner: it has no `start` and `step` to write sentences with."
        )
    return model


def select(state: State, index: Tensor) -> State:
    """The hypotheses at `index`, in that order; repeats are allowed."""
    return {name: value[index] for name, value in state.items()}


def repeated(words: Tensor, rows: Tensor) -> Tensor:
    """What belongs to n words [n, ...], once for each of the pictures that `rows` [P * n, ...] stands for."""
    times = len(rows) // max(len(words), 1)
    return words if times == 1 else words.repeat(times, *[1] * (words.dim() - 1))


def predictions(captioner: Captioner, images: Images, tokens: Tensor, owner: Tensor | None = None) -> Predictions:
    """Logits for every true word of `tokens` [C, T]; sentence j is about picture `owner[j]` (j itself
    without owner)."""
    targets = tokens[:, 1:]
    mask = targets != PAD  # [C, T - 1]
    if isinstance(captioner, FastCaptioner):
        state = captioner.start(images)
        return from_state(captioner, state if owner is None else select(state, owner), tokens)
    forced = captioner.forward(images if owner is None else images.select(owner), tokens)
    return Predictions(forced.logits[mask], targets[mask], mask, forced.attention)


def from_state(captioner: FastCaptioner, state: State, tokens: Tensor) -> Predictions:
    """The same, for states already started and already one for each sentence."""
    targets = tokens[:, 1:]
    mask = targets != PAD  # [C, T - 1]
    read = captioner.read(state, tokens)
    return Predictions(captioner.logits(read.hidden[mask]), targets[mask], mask, read.attention)


def longest_first(tokens: Tensor) -> tuple[Tensor, list[int]]:
    """An order of the sentences [C] in which, at step t, only the first `alive[t]` still have a word to predict."""
    lengths = (tokens[:, 1:] != PAD).sum(1)
    order = lengths.argsort(descending=True)
    steps = torch.arange(tokens.shape[1] - 1, device=tokens.device)
    return order, (lengths.unsqueeze(0) > steps.unsqueeze(1)).sum(1).tolist()
