"""Teacher forcing: predictions for given captions, computed for whole captions at once.

`forward` of the Captioner protocol is `logits(read(start(images), tokens).hidden)`. In separate parts, an image with
five captions is projected once, and the vocabulary layer (the widest one) skips the padding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.recording import recording
from tellapart.core.types import Images, State, Step
from tellapart.models.captioners.word_table import WordTable
from tellapart.text.vocabulary import PAD

FEW_WORDS = 16


@dataclass(frozen=True)
class HiddenSequence:
    """A captioner's hidden vectors after each word of given captions: row t predicts token t + 1."""

    hidden: Tensor  # [C, T - 1, H]
    attention: Tensor | None = None  # [C, T - 1, R]


@dataclass(frozen=True)
class HiddenStep:
    """A captioner's hidden vector after one more word: `logits(hidden)` predicts the next word."""

    hidden: Tensor  # [N, H]
    state: State
    attention: Tensor | None = None  # [N, R]


@runtime_checkable
class SequenceCaptioner(Protocol):
    """A captioner that reads whole captions from a started state. `read` and `logits` together equal `step`."""

    image_state: tuple[str, ...]
    """Names in the state that depend on the image alone. They may have one row per image (P) where the rest of the
    state has one per hypothesis (P * k, image by image), so that k captions share them without copies."""

    def start(self, images: Images) -> State: ...

    def step(self, word: Tensor, state: State) -> Step: ...

    def read(self, state: State, tokens: Tensor) -> HiddenSequence: ...

    def logits(self, hidden: Tensor) -> Tensor: ...


@runtime_checkable
class WordSharingCaptioner(SequenceCaptioner, Protocol):
    """A captioner that can compute the input of words once for many images."""

    words: WordTable

    def word_input(self, words: Tensor) -> Tensor:
        """What words [n] add to a step, for any image: [n, G]."""
        ...

    def advance(self, word_input: Tensor, state: State) -> HiddenStep:
        """One step with the input of n words [n, G] from P * n states, image by image: row p * n + i reads word i."""
        ...


@dataclass(frozen=True)
class Predictions:
    """One row per true word of some captions, with END and without padding.

    While a step is recorded, padding has rows too (with the target PAD): M is then C (T - 1).
    """

    logits: Tensor  # [M, V]
    targets: Tensor  # [M] the true words
    mask: Tensor  # [C, T - 1] bool: True at words
    attention: Tensor | None = None  # [C, T - 1, R]


def as_captioner(model: nn.Module) -> Any:
    """The model; an error if it is not a captioner."""
    if not isinstance(model, Captioner):
        raise InputError(
            f"{type(model).__name__} is not a captioner: it has no `start` and `step` to generate captions with."
        )
    return model


def select(state: State, index: Tensor) -> State:
    """The hypotheses at `index`, in that order; repeats are allowed.

    On a GPU the gradients of repeats are added in no fixed order: runs repeat to rounding, not bit for bit.
    """
    return {name: value.index_select(0, index) for name, value in state.items()}


def repeat_per_image(word_input: Tensor, rows: int) -> Tensor:
    """The input of n words [n, G], repeated for each image [P * n, G]."""
    return word_input if len(word_input) == rows else word_input.repeat(rows // len(word_input), 1)


def add_image_gates(word_input: Tensor, images: Tensor, rows: int) -> Tensor:
    """[rows, G]: the input of words, one per row or per each of an image's k rows, plus that of the image [P, G]."""
    each = rows // max(len(images), 1)
    return (torch.unflatten(word_input, 0, (-1, each)) + images.unsqueeze(1)).flatten(0, 1) if rows else word_input


def per_distinct_word(word_input: Callable[[Tensor], Tensor], words: Tensor) -> Tensor:
    """`word_input(words)` [N, G], computed once per distinct word: hundreds of beams share few words.

    Not for training: with dropout, all beams with the same word would share one mask.
    """
    if words.device.type != "cpu" or len(words) < FEW_WORDS:  # finding them would cost more than it saves
        return word_input(words)
    distinct, place = torch.unique(words, return_inverse=True)
    return word_input(distinct)[place]


def at_words(values: Tensor, mask: Tensor) -> Tensor:
    """Rows [M, …] of values [C, T, …] where the mask [C, T] is true; all C T rows while a step is recorded."""
    return values.flatten(0, 1) if recording() else values[mask]


def predictions(captioner: Captioner, images: Images, tokens: Tensor, owner: Tensor | None = None) -> Predictions:
    """Predictions for every true word of `tokens` [C, T]; caption j describes image `owner[j]` (j without owner)."""
    targets = tokens[:, 1:]
    mask = targets != PAD  # [C, T - 1]
    if isinstance(captioner, SequenceCaptioner):
        state = captioner.start(images)
        return predictions_from_state(captioner, state if owner is None else select(state, owner), tokens)
    forced = captioner.forward(images if owner is None else images.select(owner), tokens)
    return Predictions(at_words(forced.logits, mask), at_words(targets, mask), mask, forced.attention)


def predictions_from_state(captioner: SequenceCaptioner, state: State, tokens: Tensor) -> Predictions:
    """`predictions` from started states, one per caption."""
    targets = tokens[:, 1:]
    mask = targets != PAD  # [C, T - 1]
    read = captioner.read(state, tokens)
    return Predictions(captioner.logits(at_words(read.hidden, mask)), at_words(targets, mask), mask, read.attention)


def first_rows(values: Tensor, rows: int) -> Tensor:
    """The first rows; the tensor itself if those are all, since the backward pass of a slice costs a copy."""
    return values if len(values) == rows else values[:rows]


def pad_rows(values: Tensor, rows: int) -> Tensor:
    """[rows, W]: values [n, W] with rows of zeros added."""
    return values if len(values) == rows else functional.pad(values, (0, 0, 0, rows - len(values)))


@dataclass(frozen=True)
class SortedCaptions:
    """Captions in an order in which, at step t, only the first `active[t]` still have a word to predict."""

    state: State
    tokens: Tensor  # [C, T]
    active: list[int]
    order: Tensor | None = None  # [C]; None: not reordered

    def restore(self, values: Tensor) -> Tensor:
        """Rows [C, …] in the original order."""
        return values if self.order is None else values[self.order.argsort()]


def longest_first(state: State, tokens: Tensor) -> SortedCaptions:
    """Captions with their states, the longest first.

    On a GPU (reading lengths would wait for it) and while a step is recorded: not reordered, all active to the end.
    """
    if recording() or tokens.is_cuda:
        return SortedCaptions(state, tokens, [len(tokens)] * (tokens.shape[1] - 1))
    lengths = (tokens[:, 1:] != PAD).sum(1)
    order = lengths.argsort(descending=True)
    steps = torch.arange(tokens.shape[1] - 1, device=tokens.device)
    active = (lengths.unsqueeze(0) > steps.unsqueeze(1)).sum(1).tolist()
    return SortedCaptions(select(state, order), tokens[order], active, order)
