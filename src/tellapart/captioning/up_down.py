"""Up-Down (Anderson et al. 2018; paper 2, section 3.2, Eqs. 9-14): one LSTM decides where to look, another speaks.

The gaze depends on what was said, so the loop over time stays; all that does not depend on the loop is computed before
it, and sentences that have ended leave it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.captioning.additive_attention import AdditiveAttention, weighted
from tellapart.captioning.fast_path import (
    Heard,
    Read,
    filled_up,
    first,
    heard_once,
    longest_first,
    with_pictures,
)
from tellapart.captioning.lstm_gates import lstm_step
from tellapart.captioning.picture_input import PictureInput
from tellapart.captioning.words import WordTable
from tellapart.errors import InputError
from tellapart.types import Forced, Images, ModelInputs, State, Step

MEMORY = ("attention_hidden", "attention_cell", "language_hidden", "language_cell")


@dataclass(frozen=True)
class UpDown:
    """Up-Down: an attention LSTM and a language LSTM with additive attention over cells or regions."""

    hidden: int = 512
    """Width of both LSTMs, of the words and of the projected cells."""
    attention: int = 512
    """Width of the layer that compares cells with the attention LSTM's output."""
    dropout: float = 0.5
    """On words, projected pictures, and the language LSTM's output where it predicts words."""
    scaling: str = "none"
    """Picture features as they are (none), standardised row by row (layer), or of length one (unit)."""
    tied: bool = False
    """One table reads and predicts words."""
    compat: str = "paper"
    """paper: cells are projected without ReLU and the whole picture is their mean (Eqs. 9, 10). code: as released,
    words, cells and the whole picture go through ReLU, and the whole picture has a layer of its own."""

    def build(self, inputs: ModelInputs) -> UpDownModel:
        return UpDownModel(self, len(inputs.vocabulary), inputs.feature_width)


class UpDownModel(nn.Module):
    picture_state: tuple[str, ...] = ("whole", "cells", "keys", "mask")

    def __init__(self, config: UpDown, words: int, feature_width: int) -> None:
        super().__init__()
        if config.compat not in ("paper", "code"):
            raise InputError(f"Up-Down is built as in the paper or as in the code, not as in '{config.compat}'.")
        hidden, self.relu = config.hidden, config.compat == "code"
        self.hidden = hidden
        self.cells = PictureInput(feature_width, hidden, config.dropout, config.scaling, self.relu)
        self.whole = PictureInput(feature_width, hidden, config.dropout, config.scaling) if self.relu else None
        self.keys = nn.Linear(hidden, config.attention)
        self.words = WordTable(words, hidden, hidden, config.tied)
        self.attention_lstm = nn.LSTMCell(3 * hidden, hidden)  # reads [h_language; whole picture; word]
        self.language_lstm = nn.LSTMCell(2 * hidden, hidden)  # reads [attended cells; h_attention]
        self.query = nn.Linear(hidden, config.attention)
        self.attend = AdditiveAttention(config.attention)
        self.dropout = nn.Dropout(config.dropout)

    def start(self, images: Images) -> State:
        cells = self.cells(images.features)  # [N, R, H]
        # What the whole picture adds to the attention LSTM's gates is the same at every step.
        weight = self.attention_lstm.weight_ih[:, self.hidden : 2 * self.hidden]
        whole = replace(images, features=cells).pooled() if self.whole is None else self.whole(images.pooled())
        whole = functional.linear(whole, weight)  # [N, 4H]
        nothing = torch.zeros(len(images), self.hidden, dtype=cells.dtype, device=cells.device)
        picture = {"whole": whole, "cells": cells, "keys": self.keys(cells), "mask": images.mask}
        return picture | dict.fromkeys(MEMORY, nothing)

    def step(self, word: Tensor, state: State) -> Step:
        heard = self.advance(self.hear(word) if self.training else heard_once(self.hear, word), state)
        return Step(self.logits(heard.hidden), heard.state, heard.attention)

    def hear(self, words: Tensor) -> Tensor:
        """The words' and the biases' share of the attention LSTM's gates [..., 4H]."""
        read = self.words(words)
        read = self.dropout(torch.relu(read) if self.relu else read)
        cell = self.attention_lstm
        return functional.linear(read, cell.weight_ih[:, 2 * self.hidden :], cell.bias_ih + cell.bias_hh)

    def advance(self, heard: Tensor, state: State) -> Heard:
        gates = with_pictures(heard, state["whole"], len(state["language_hidden"]))
        memory, attention = self._advance(gates, tuple(state[name] for name in MEMORY), state, len(gates))
        return Heard(self.dropout(memory[2]), {**state, **dict(zip(MEMORY, memory))}, attention)

    def read(self, state: State, tokens: Tensor) -> Read:
        """All words but the last, the longest sentences first, so that those still going on are the first rows."""
        ordered = longest_first(state, tokens)
        state = ordered.state
        gates = self.hear(ordered.tokens[:, :-1]) + state["whole"].unsqueeze(1)  # [C, T - 1, 4H]
        memory = tuple(state[name] for name in MEMORY)
        of_language = self.attention_lstm.weight_ih[:, : self.hidden].T  # once: going back through a slice costs a copy
        spoken, looks = [], []
        for gate, rows in zip(gates.unbind(1), ordered.alive):
            memory = tuple(first(part, rows) for part in memory)
            memory, attention = self._advance(first(gate, rows), memory, state, rows, of_language)
            spoken.append(filled_up(memory[2], len(tokens)))
            looks.append(filled_up(attention, len(tokens)))
        hidden = self.dropout(torch.stack(spoken, 1))  # [C, T - 1, H]
        return Read(ordered.back(hidden), ordered.back(torch.stack(looks, 1)))

    def logits(self, hidden: Tensor) -> Tensor:
        return self.words.logits(hidden)

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        read = self.read(self.start(images), tokens)
        return Forced(self.logits(read.hidden), read.attention)

    def _advance(
        self, gates: Tensor, memory: tuple[Tensor, ...], state: State, rows: int, of_language: Tensor | None = None
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        """One step of both LSTMs for the first `rows` hypotheses; also the attention [rows, R].

        of_language: the attention LSTM's weights for the language LSTM's output [H, 4H], if they are at hand."""
        attention_hidden, attention_cell, language_hidden, language_cell = memory
        cell = self.attention_lstm
        weight = cell.weight_ih[:, : self.hidden].T if of_language is None else of_language
        gates = torch.addmm(gates, language_hidden, weight)
        gates = torch.addmm(gates, attention_hidden, cell.weight_hh.T)
        attention_hidden, attention_cell = lstm_step(gates, attention_cell)

        scores = self.attend(first(state["keys"], rows), self.query(attention_hidden), first(state["mask"], rows))
        weights = functional.softmax(scores, -1)  # [N, R]
        seen = weighted(weights, first(state["cells"], rows))  # [N, H]

        language = self.language_lstm(torch.cat([seen, attention_hidden], -1), (language_hidden, language_cell))
        return (attention_hidden, attention_cell, *language), weights
