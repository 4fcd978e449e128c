"""The captioners' fast path: start once an image, read whole sentences, predict words only where a word
stands.

`forward` of the Captioner protocol is `logits(read(start(images), tokens).hidden)`. Taken apart, an image
with five captions is projected once, and the vocabulary layer (the widest of all) skips the padding.
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
    """What a captioner holds after each word of a given sentence: row t predicts token t + 1."""

    hidden: Tensor  # [C, T - 1, H]
    attention: Tensor | None = None  # [C, T - 1, R]


@dataclass(frozen=True)
class HiddenStep:
    """A captioner one word further, before it predicts the next: `logits(hidden)` are the step's."""

    hidden: Tensor  # [N, H]
    state: State
    attention: Tensor | None = None  # [N, R]


@runtime_checkable
class SequenceCaptioner(Protocol):
    """A captioner that reads whole sentences from a started state. `read` and `logits` together equal
    `step`."""

    image_state: tuple[str, ...]
    """Names in the state that depend on the image alone. They may have one row an image, P rows, where the rest of
    the state has one a hypothesis, P * k rows image by image: what k sentences share is not copied k times."""

    def start(self, images: Images) -> State: ...

    def step(self, word: Tensor, state: State) -> Step: ...

    def read(self, state: State, tokens: Tensor) -> HiddenSequence: ...

    def logits(self, hidden: Tensor) -> Tensor: ...


@runtime_checkable
class WordSharingCaptioner(SequenceCaptioner, Protocol):
    """A captioner that can hear the same words for many images at once, and whose word table is in the open."""

    words: WordTable

    def word_input(self, words: Tensor) -> Tensor:
        """What words [n] add to a step whatever the image: [n, G]."""
        ...

    def advance(self, word_input: Tensor, state: State) -> HiddenStep:
        """Words heard [n, G], for a state of P * n rows, image by image: row p * n + i hears the i-th."""
        ...


@dataclass(frozen=True)
class Predictions:
    """One row for each true word of some sentences (END among them), padding left out.

    While a step is recorded, padding has rows too (their target is PAD): M is then C (T - 1).
    """

    logits: Tensor  # [M, V]
    targets: Tensor  # [M] the words that stand there
    mask: Tensor  # [C, T - 1] bool: where words stand
    attention: Tensor | None = None  # [C, T - 1, R]


def as_captioner(model: nn.Module) -> Any:
    """The model itself once it is known to be a captioner; an nn.Module's own type says nothing of its methods."""
    if not isinstance(model, Captioner):
        raise InputError(
            f"{type(model).__name__} is no captioner: it has no `start` and `step` to write sentences with."
        )
    return model


def select(state: State, index: Tensor) -> State:
    """The hypotheses at `index`, in that order; repeats are allowed. On a GPU the gradients of repeats are added in no
    fixed order, for speed: runs there repeat to rounding, not bit for bit."""
    return {name: value.index_select(0, index) for name, value in state.items()}


def repeat_per_image(word_input: Tensor, rows: int) -> Tensor:
    """Words heard [n, G] once for each image [P * n, G]."""
    return word_input if len(word_input) == rows else word_input.repeat(rows // len(word_input), 1)


def add_image_gates(word_input: Tensor, images: Tensor, rows: int) -> Tensor:
    """[rows, G]: words heard, one a row or one for each of an image's k rows, and what its image [P, G] adds."""
    each = rows // max(len(images), 1)
    return (word_input.unflatten(0, (-1, each)) + images.unsqueeze(1)).flatten(0, 1) if rows else word_input


def per_distinct_word(word_input: Callable[[Tensor], Tensor], words: Tensor) -> Tensor:
    """`word_input(words)` [N, G] with each distinct word heard once: hundreds of beams go on from few words.

    Only where nothing is dropped at random, or all beams that say a word would lose the same of it.
    """
    if words.device.type != "cpu" or len(words) < FEW_WORDS:  # elsewhere finding them would cost more than it saves
        return word_input(words)
    distinct, place = torch.unique(words, return_inverse=True)
    return word_input(distinct)[place]


def at_words(values: Tensor, mask: Tensor) -> Tensor:
    """Rows [M, …] of values [C, T, …] where the mask [C, T] is true; all C T of them while a step is recorded."""
    return values.flatten(0, 1) if recording() else values[mask]


def predictions(captioner: Captioner, images: Images, tokens: Tensor, owner: Tensor | None = None) -> Predictions:
    """Logits for every true word of `tokens` [C, T]; sentence j is about image `owner[j]` (j itself
    without owner)."""
    targets = tokens[:, 1:]
    mask = targets != PAD  # [C, T - 1]
    if isinstance(captioner, SequenceCaptioner):
        state = captioner.start(images)
        return predictions_from_state(captioner, state if owner is None else select(state, owner), tokens)
    forced = captioner.forward(images if owner is None else images.select(owner), tokens)
    return Predictions(at_words(forced.logits, mask), at_words(targets, mask), mask, forced.attention)


def predictions_from_state(captioner: SequenceCaptioner, state: State, tokens: Tensor) -> Predictions:
    """The same, for states already started and already one for each sentence."""
    targets = tokens[:, 1:]
    mask = targets != PAD  # [C, T - 1]
    read = captioner.read(state, tokens)
    return Predictions(captioner.logits(at_words(read.hidden, mask)), at_words(targets, mask), mask, read.attention)


def first_rows(values: Tensor, rows: int) -> Tensor:
    """The first rows; the tensor itself where that is all of them, since going back through a slice costs a copy."""
    return values if len(values) == rows else values[:rows]


def pad_rows(values: Tensor, rows: int) -> Tensor:
    """[n, W] with rows of zeros below, up to so many."""
    return values if len(values) == rows else functional.pad(values, (0, 0, 0, rows - len(values)))


@dataclass(frozen=True)
class SortedCaptions:
    """Sentences in an order in which, at step t, only the first `alive[t]` still have a word to predict."""

    state: State
    tokens: Tensor  # [C, T]
    alive: list[int]
    order: Tensor | None = None  # [C]; None: as they stood

    def back(self, values: Tensor) -> Tensor:
        """Rows [C, …] in the order the sentences stood in before."""
        return values if self.order is None else values[self.order.argsort()]


def longest_first(state: State, tokens: Tensor) -> SortedCaptions:
    """Sentences with their states, the longest first. On a GPU, which would have to be asked for lengths, and while a
    step is recorded: as they stand, and all of them to the end."""
    if recording() or tokens.is_cuda:
        return SortedCaptions(state, tokens, [len(tokens)] * (tokens.shape[1] - 1))
    lengths = (tokens[:, 1:] != PAD).sum(1)
    order = lengths.argsort(descending=True)
    steps = torch.arange(tokens.shape[1] - 1, device=tokens.device)
    alive = (lengths.unsqueeze(0) > steps.unsqueeze(1)).sum(1).tolist()
    return SortedCaptions(select(state, order), tokens[order], alive, order)
