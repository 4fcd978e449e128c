"""AdaptiveAttention (Lu et al. 2017; paper 1, section 5.2): look at the picture, or at a sentinel of what was said.

Symbols: x_t the word read, v_g the picture as a whole, V its cells, h_t and c_t the LSTM's output and memory, s_t the
visual sentinel. Nothing the attention finds flows back into the LSTM, so a given sentence needs one pass of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.captioning.additive_attention import AdditiveAttention
from tellapart.captioning.fast_path import Heard, Read, longest_first, repeated, select
from tellapart.captioning.picture_input import PictureInput
from tellapart.captioning.words import WordTable
from tellapart.types import Forced, Images, ModelInputs, State, Step


@dataclass(frozen=True)
class AdaptiveAttention:
    """AdaptiveAttention: an LSTM with a visual sentinel, attention over cells or regions and the sentinel."""

    hidden: int = 512
    """Width of the LSTM, of the words and of the projected cells."""
    attention: int = 512
    """Width of the layer that compares cells with the LSTM's output."""
    dropout: float = 0.5
    """On words, projected pictures, LSTM output and sentinel, and before the words are predicted."""
    attention_dropout: float = 0.5
    """Inside the comparison of cells with the LSTM's output."""
    scaling: str = "none"
    """Picture features as they are (none), standardised row by row (layer), or of length one (unit)."""
    tied: bool = False
    """One table reads and predicts words."""

    def build(self, inputs: ModelInputs) -> AdaptiveAttentionModel:
        return AdaptiveAttentionModel(self, len(inputs.vocabulary), inputs.feature_width)


class AdaptiveAttentionModel(nn.Module):
    picture_state: tuple[str, ...] = ("whole", "cells", "keys", "mask")

    def __init__(self, config: AdaptiveAttention, words: int, feature_width: int) -> None:
        super().__init__()
        hidden = config.hidden
        self.whole = PictureInput(feature_width, hidden, config.dropout, config.scaling)
        self.cells = PictureInput(feature_width, hidden, config.dropout, config.scaling)
        self.keys = nn.Linear(hidden, config.attention)
        self.words = WordTable(words, hidden, hidden, config.tied)
        self.lstm = nn.LSTM(2 * hidden, hidden, batch_first=True)
        self.sentinel_gate = nn.Linear(3 * hidden, hidden)
        self.sentinel = nn.Linear(hidden, hidden)
        self.sentinel_key = nn.Linear(hidden, config.attention)
        self.output = nn.Linear(hidden, hidden)
        self.query = nn.Linear(hidden, config.attention)
        self.attend = AdditiveAttention(config.attention, config.attention_dropout)
        self.combine = nn.Linear(hidden, hidden)
        self.dropout = nn.Dropout(config.dropout)

    def start(self, images: Images) -> State:
        whole = self.whole(images.pooled())  # [N, H] v_g
        cells = self.cells(images.features)  # [N, R, H] V
        nothing = torch.zeros_like(whole)
        return {
            "hidden": nothing,
            "cell": nothing,
            "whole": whole,
            "cells": cells,
            "keys": self.keys(cells),  # [N, R, A]
            "mask": images.mask,
        }

    def step(self, word: Tensor, state: State) -> Step:
        heard = self.advance(word, state)
        return Step(self.logits(heard.hidden), heard.state, heard.attention)

    def advance(self, words: Tensor, state: State) -> Heard:
        inputs = self._inputs(words.unsqueeze(1), state)  # [N, 1, 2H]
        memory = (state["hidden"].unsqueeze(0).contiguous(), state["cell"].unsqueeze(0).contiguous())
        output, (hidden, cell) = self.lstm(inputs, memory)
        gate = self.sentinel_gate(torch.cat([inputs, state["hidden"].unsqueeze(1)], -1)).sigmoid()
        sentinel = gate * cell[0].unsqueeze(1).tanh()
        spoken, attention = self._look(output, sentinel, state, [len(inputs)])
        return Heard(spoken[:, 0], {**state, "hidden": hidden[0], "cell": cell[0]}, attention[:, 0])

    def read(self, state: State, tokens: Tensor) -> Read:
        """All words but the last, in one pass of the LSTM.

        The sentinel needs tanh(c_t), which the fused LSTM keeps to itself. As h_t = o_t tanh(c_t), it is h_t / o_t,
        and the output gate o_t is one matrix product for all steps.
        """
        order, alive = longest_first(tokens)
        state = select(state, order)
        inputs = self._inputs(tokens[order, :-1], state)  # [C, T - 1, 2H]
        memory = (state["hidden"].unsqueeze(0).contiguous(), state["cell"].unsqueeze(0).contiguous())
        output, _ = self.lstm(inputs, memory)  # [C, T - 1, H] h_t
        before = torch.cat([state["hidden"].unsqueeze(1), output[:, :-1]], 1)  # h_{t-1}
        # The output gate comes last of the four.
        of_input, of_hidden, input_bias, hidden_bias = (part.chunk(4)[3] for part in self.lstm.all_weights[0])
        output_gate = torch.sigmoid(
            functional.linear(inputs, of_input, input_bias) + functional.linear(before, of_hidden, hidden_bias)
        )
        gate = self.sentinel_gate(torch.cat([inputs, before], -1)).sigmoid()
        tiny = torch.finfo(output_gate.dtype).tiny
        sentinel = gate * output / output_gate.clamp(min=tiny)
        spoken, attention = self._look(output, sentinel, state, alive)
        back = order.argsort()
        return Read(spoken[back], attention[back])

    def logits(self, hidden: Tensor) -> Tensor:
        return self.words.logits(hidden)

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        read = self.read(self.start(images), tokens)
        return Forced(self.logits(read.hidden), read.attention)

    def _inputs(self, words: Tensor, state: State) -> Tensor:
        """[x_t; v_g] for words [C, T]."""
        read = repeated(self.dropout(torch.relu(self.words(words))), state["whole"])  # [C, T, H]
        return torch.cat([read, state["whole"].unsqueeze(1).expand_as(read)], -1)

    def _look(self, output: Tensor, sentinel: Tensor, state: State, alive: list[int]) -> tuple[Tensor, Tensor]:
        """h_t and s_t [C, T, H] to what predicts the words [C, T, H], and the attention to the cells [C, T, R].

        Step by step, though no step needs the one before: all comparisons at once would leave every cache, and the
        first `alive[t]` sentences are the only ones that still have a word to say.
        """
        sentinel = self.dropout(torch.relu(self.sentinel(self.dropout(sentinel))))  # [C, T, H]
        output = self.dropout(torch.tanh(self.output(self.dropout(output))))  # [C, T, H]
        query, sentinel_key = self.query(output), self.sentinel_key(sentinel)  # [C, T, A]
        contexts, looks = [], []
        for time, rows in enumerate(alive):
            own = self.attend(sentinel_key[:rows, time, None], query[:rows, time])  # [N, 1]
            cells = self.attend(state["keys"][:rows], query[:rows, time], state["mask"][:rows])  # [N, R]
            weights = functional.softmax(torch.cat([own, cells], 1), 1)  # [N, 1 + R]
            seen = torch.bmm(weights[:, None, 1:], state["cells"][:rows]).squeeze(1)  # [N, H]
            contexts.append(functional.pad(weights[:, :1] * sentinel[:rows, time] + seen, (0, 0, 0, len(query) - rows)))
            looks.append(functional.pad(weights[:, 1:], (0, 0, 0, len(query) - rows)))
        spoken = torch.tanh(self.combine(torch.stack(contexts, 1) + output))
        return self.dropout(spoken), torch.stack(looks, 1)
