"""Up-Down (Anderson et al. 2018; grounded captioning paper, section 3.2, Eqs. 9-14): an attention and a language LSTM.

Attention depends on the words before, so reading a caption needs a loop over time. Everything else is computed before
the loop, and captions that have ended leave it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.types import Forced, Images, State, Step
from tellapart.models.captioners.additive_attention import AdditiveAttention, weighted_sum
from tellapart.models.captioners.image_projection import ImageProjection
from tellapart.models.captioners.loop_attention import LoopAttention
from tellapart.models.captioners.lstm_gates import lstm_step
from tellapart.models.captioners.teacher_forcing import (
    HiddenSequence,
    HiddenStep,
    add_image_gates,
    first_rows,
    longest_first,
    pad_rows,
    per_distinct_word,
)
from tellapart.models.captioners.word_table import WordTable
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.loop_products import LoopLinear, LoopMix

MEMORY = ("attention_hidden", "attention_cell", "language_hidden", "language_cell")


@dataclass(frozen=True)
class UpDown:
    """Up-Down: an attention LSTM and a language LSTM with additive attention over cells or regions."""

    hidden: int = 512
    """Width of both LSTMs, of the words and of the projected cells."""
    attention: int = 512
    """Width of the layer that compares cells with the attention LSTM's output."""
    dropout: float = 0.5
    """Dropout of words, projected images, and the language LSTM's output before words are predicted."""
    scaling: str = "none"
    """Scaling of image features: none, layer (each row standardised) or unit (each row to length one)."""
    tied: bool = False
    """Use one table to embed and to predict words."""
    compat: str = "paper"
    """paper: cells are projected without ReLU and the whole image is their mean (Eqs. 9, 10). code: as released,
    words, cells and the whole image go through ReLU, and the whole image has a separate layer."""

    def build(self, inputs: ModelInputs) -> UpDownModel:
        """The model with random weights."""
        return UpDownModel(self, len(inputs.vocabulary), inputs.feature_width)


@dataclass(frozen=True)
class Loop:
    """The matrix products of every step of a caption."""

    attention: LoopLinear  # [h_language; h_attention] to the attention LSTM's gates
    language: LoopLinear  # [attended cells; h_attention; h_language] to the language LSTM's gates
    query: LoopLinear
    attend: LoopAttention
    mix: LoopMix | None  # None where several hypotheses share an image's cells


class UpDownModel(nn.Module):
    """See `UpDown`."""

    image_state: tuple[str, ...] = ("whole", "cells", "keys", "mask")

    def __init__(self, config: UpDown, words: int, feature_width: int) -> None:
        super().__init__()
        if config.compat not in ("paper", "code"):
            raise InputError(f"compat must be 'paper' or 'code', not '{config.compat}'.")
        hidden, self.relu = config.hidden, config.compat == "code"
        self.hidden = hidden
        self.cells = ImageProjection(feature_width, hidden, config.dropout, config.scaling, self.relu)
        self.whole = ImageProjection(feature_width, hidden, config.dropout, config.scaling) if self.relu else None
        self.keys = nn.Linear(hidden, config.attention)
        self.words = WordTable(words, hidden, hidden, config.tied)
        self.attention_lstm = nn.LSTMCell(3 * hidden, hidden)  # reads [h_language; whole image; word]
        self.language_lstm = nn.LSTMCell(2 * hidden, hidden)  # reads [attended cells; h_attention]
        self.query = nn.Linear(hidden, config.attention)
        self.attend = AdditiveAttention(config.attention)
        self.dropout = nn.Dropout(config.dropout)

    def start(self, images: Images) -> State:
        """The state before the first word."""
        cells = self.cells(images.features)  # [N, R, H]
        # What the whole image adds to the attention LSTM's gates is the same at every step.
        weight = self.attention_lstm.weight_ih[:, self.hidden : 2 * self.hidden]
        whole = replace(images, features=cells).pooled() if self.whole is None else self.whole(images.pooled())
        whole = functional.linear(whole, weight)  # [N, 4H]
        nothing = torch.zeros(len(images), self.hidden, dtype=cells.dtype, device=cells.device)
        image = {"whole": whole, "cells": cells, "keys": self.keys(cells), "mask": images.mask}
        return image | dict.fromkeys(MEMORY, nothing)

    def step(self, word: Tensor, state: State) -> Step:
        """Logits of the next word [N, V] after words [N], the new state, and attention [N, R]."""
        word_input = self.advance(
            self.word_input(word) if self.training else per_distinct_word(self.word_input, word), state
        )
        return Step(self.logits(word_input.hidden), word_input.state, word_input.attention)

    def word_input(self, words: Tensor) -> Tensor:
        """The share of words [...] and biases in the attention LSTM's gates [..., 4H]."""
        read = self.words(words)
        read = self.dropout(torch.relu(read) if self.relu else read)
        cell = self.attention_lstm
        return functional.linear(read, cell.weight_ih[:, 2 * self.hidden :], cell.bias_ih + cell.bias_hh)

    def advance(self, word_input: Tensor, state: State) -> HiddenStep:
        """One step of both LSTMs."""
        gates = add_image_gates(word_input, state["whole"], len(state["language_hidden"]))
        memory = tuple(state[name] for name in MEMORY)
        memory, attention = self._advance(0, memory, state, self._loop(gates.unsqueeze(0), state))
        return HiddenStep(self.dropout(memory[2]), {**state, **dict(zip(MEMORY, memory))}, attention)

    def read(self, state: State, tokens: Tensor) -> HiddenSequence:
        """Hidden vectors [C, T - 1, H] after all words but the last.

        The longest captions come first, so that the active ones are the first rows.
        """
        ordered = longest_first(state, tokens)
        state = ordered.state
        gates = self.word_input(ordered.tokens[:, :-1]) + state["whole"].unsqueeze(1)  # [C, T - 1, 4H]
        memory = tuple(state[name] for name in MEMORY)
        loop = self._loop(gates.transpose(0, 1), state)
        outputs, attentions = [], []
        for step, rows in enumerate(ordered.active):
            memory = tuple(first_rows(part, rows) for part in memory)
            memory, attention = self._advance(step, memory, state, loop)
            outputs.append(pad_rows(memory[2], len(tokens)))
            attentions.append(pad_rows(attention, len(tokens)))
        hidden = self.dropout(torch.stack(outputs, 1))  # [C, T - 1, H]
        return HiddenSequence(ordered.restore(hidden), ordered.restore(torch.stack(attentions, 1)))

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden [..., H] -> logits [..., V]."""
        return self.words.logits(hidden)

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        """Logits [C, T - 1, V] and attention [C, T - 1, R] for given captions [C, T]."""
        read = self.read(self.start(images), tokens)
        return Forced(self.logits(read.hidden), read.attention)

    def _loop(self, gates: Tensor, state: State) -> Loop:
        """The products of T steps for N hypotheses; gates [T, N, 4H] is the known part of the attention gates."""
        attention, language, query = self.attention_lstm, self.language_lstm, self.query
        shape, cells = gates.shape[:2], state["cells"]
        bias = language.bias_ih + language.bias_hh
        return Loop(
            LoopLinear((attention.weight_ih[:, : self.hidden], attention.weight_hh), gates),
            LoopLinear(
                (language.weight_ih[:, : self.hidden], language.weight_ih[:, self.hidden :], language.weight_hh),
                bias.expand(*shape, -1),
            ),
            LoopLinear((query.weight,), query.bias.expand(*shape, -1)),
            LoopAttention(self.attend, state["keys"], state["mask"], (shape[0], shape[1])),
            LoopMix(cells, shape[0]) if len(cells) == shape[1] else None,
        )

    def _advance(
        self, step: int, memory: tuple[Tensor, ...], state: State, loop: Loop
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        """One step of both LSTMs for as many hypotheses as `memory` has rows, and the attention [rows, R]."""
        attention_hidden, attention_cell, language_hidden, language_cell = memory
        rows = len(language_hidden)
        gates, rest = loop.attention.apart(step, language_hidden, attention_hidden)
        attention_hidden, attention_cell = lstm_step(gates, attention_cell, rest)

        query = loop.query(step, attention_hidden)
        weights = loop.attend(step, query)  # [N, R]
        attended = (
            loop.mix(step, weights) if loop.mix else weighted_sum(weights, first_rows(state["cells"], rows))
        )  # [N, H]

        gates, rest = loop.language.apart(step, attended, attention_hidden, language_hidden)
        return (attention_hidden, attention_cell, *lstm_step(gates, language_cell, rest)), weights
