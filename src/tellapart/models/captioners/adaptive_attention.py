"""AdaptiveAttention (Lu et al. 2017; paper 1, section 5.2): look at the image, or at a sentinel of what was said.

Symbols: x_t the word read, v_g the image as a whole, V its cells, h_t and c_t the LSTM's output and memory, s_t the
visual sentinel. Nothing the attention finds flows back into the LSTM, so a given sentence needs one pass of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.types import Forced, Images, State, Step
from tellapart.models.captioners.additive_attention import AdditiveAttention, weighted_sum
from tellapart.models.captioners.image_projection import ImageProjection
from tellapart.models.captioners.lstm_gates import lstm_step, quick_tanh
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


@dataclass(frozen=True)
class AdaptiveAttention:
    """AdaptiveAttention: an LSTM with a visual sentinel, attention over cells or regions and the sentinel."""

    hidden: int = 512
    """Width of the LSTM, of the words and of the projected cells."""
    attention: int = 512
    """Width of the layer that compares cells with the LSTM's output."""
    dropout: float = 0.5
    """On words, projected images, LSTM output and sentinel, and before the words are predicted."""
    attention_dropout: float = 0.5
    """Inside the comparison of cells with the LSTM's output."""
    scaling: str = "none"
    """Image features as they are (none), standardised row by row (layer), or of length one (unit)."""
    tied: bool = False
    """One table reads and predicts words."""

    def build(self, inputs: ModelInputs) -> AdaptiveAttentionModel:
        return AdaptiveAttentionModel(self, len(inputs.vocabulary), inputs.feature_width)


class AdaptiveAttentionModel(nn.Module):
    image_state: tuple[str, ...] = ("whole", "gates", "cells", "keys", "mask")

    def __init__(self, config: AdaptiveAttention, words: int, feature_width: int) -> None:
        super().__init__()
        hidden = self.hidden = config.hidden
        self.whole = ImageProjection(feature_width, hidden, config.dropout, config.scaling)
        self.cells = ImageProjection(feature_width, hidden, config.dropout, config.scaling)
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
            "gates": self._gates(whole, slice(self.hidden, 2 * self.hidden)),  # [N, 5H], the same at every step
            "cells": cells,
            "keys": self.keys(cells),  # [N, R, A]
            "mask": images.mask,
        }

    def step(self, word: Tensor, state: State) -> Step:
        word_input = self.advance(
            self.word_input(word) if self.training else per_distinct_word(self.word_input, word), state
        )
        return Step(self.logits(word_input.hidden), word_input.state, word_input.attention)

    def word_input(self, words: Tensor) -> Tensor:
        gates = self._gates(self._word_inputs(words), slice(0, self.hidden))  # [n, 5H]
        _, _, input_bias, hidden_bias = self.lstm.all_weights[0]
        return gates + torch.cat([input_bias + hidden_bias, self.sentinel_gate.bias])

    def advance(self, word_input: Tensor, state: State) -> HiddenStep:
        before = state["hidden"]
        of_lstm, of_sentinel = add_image_gates(word_input, state["gates"], len(before)).split(
            [4 * self.hidden, self.hidden], 1
        )
        hidden, cell = lstm_step(torch.addmm(of_lstm, before, self.lstm.all_weights[0][1].T), state["cell"])
        gate = torch.sigmoid(torch.addmm(of_sentinel, before, self.sentinel_gate.weight[:, 2 * self.hidden :].T))
        output, sentinel, query, key = self._spoken(hidden, gate * quick_tanh(cell))
        context, attention = self._look(query, sentinel, key, state, len(hidden))
        spoken = self.dropout(quick_tanh(self.combine(context + output)))
        return HiddenStep(spoken, {**state, "hidden": hidden, "cell": cell}, attention)

    def read(self, state: State, tokens: Tensor) -> HiddenSequence:
        """All words but the last, in one pass of the LSTM.

        The sentinel needs tanh(c_t), which the fused LSTM keeps to itself. As h_t = o_t tanh(c_t), it is h_t / o_t,
        and the output gate o_t is one matrix product for all steps.
        """
        ordered = longest_first(state, tokens)
        state = ordered.state
        inputs = self._inputs(ordered.tokens[:, :-1], state)  # [C, T - 1, 2H]
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
        output, sentinel, query, key = self._spoken(output, sentinel)
        if ordered.order is None:  # on a GPU: one large step keeps a GPU busier than many small ones
            query, sentinel, key = (part.flatten(0, 1) for part in (query, sentinel, key))
            found = self._look(query, sentinel, key, state, len(tokens))
            context, attention = (part.unflatten(0, output.shape[:2]) for part in found)
            return HiddenSequence(self.dropout(quick_tanh(self.combine(context + output))), attention)
        contexts, looks = [], []
        # Step by step, though no step needs the one before: all comparisons at once would leave every cache, and the
        # first `alive[t]` sentences are the only ones that still have a word to say.
        for asks, offers, own_key, rows in zip(query.unbind(1), sentinel.unbind(1), key.unbind(1), ordered.alive):
            context, attention = self._look(asks[:rows], offers[:rows], own_key[:rows], state, rows)
            contexts.append(pad_rows(context, len(tokens)))
            looks.append(pad_rows(attention, len(tokens)))
        spoken = self.dropout(quick_tanh(self.combine(torch.stack(contexts, 1) + output)))
        return HiddenSequence(ordered.back(spoken), ordered.back(torch.stack(looks, 1)))

    def logits(self, hidden: Tensor) -> Tensor:
        return self.words.logits(hidden)

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        read = self.read(self.start(images), tokens)
        return Forced(self.logits(read.hidden), read.attention)

    def _word_inputs(self, words: Tensor) -> Tensor:
        """x_t of words of any shape [..., H]."""
        return self.dropout(torch.relu(self.words(words)))

    def _inputs(self, words: Tensor, state: State) -> Tensor:
        """[x_t; v_g] for words [C, T]."""
        read = self._word_inputs(words)  # [C, T, H]
        return torch.cat([read, state["whole"].unsqueeze(1).expand_as(read)], -1)

    def _gates(self, part: Tensor, place: slice) -> Tensor:
        """What one part of [x_t; v_g] adds to the LSTM's gates and, behind them, to the sentinel's [N, 5H]."""
        of_lstm = functional.linear(part, self.lstm.all_weights[0][0][:, place])
        return torch.cat([of_lstm, functional.linear(part, self.sentinel_gate.weight[:, place])], -1)

    def _spoken(self, output: Tensor, sentinel: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """h_t and s_t [..., H] as they are added up, and the query and the sentinel's key [..., A] of the attention."""
        sentinel = self.dropout(torch.relu(self.sentinel(self.dropout(sentinel))))
        output = self.dropout(quick_tanh(self.output(self.dropout(output))))
        return output, sentinel, self.query(output), self.sentinel_key(sentinel)

    def _look(
        self, query: Tensor, sentinel: Tensor, sentinel_key: Tensor, state: State, rows: int
    ) -> tuple[Tensor, Tensor]:
        """Cells and sentinel by weight [N, H] and the cells' weights [N, R], for N queries about the first `rows`
        hypotheses' images, equally many about each."""
        own = self.attend(sentinel_key.unsqueeze(1), query)  # [N, 1]
        cells = self.attend(first_rows(state["keys"], rows), query, first_rows(state["mask"], rows))  # [N, R]
        weights = functional.softmax(torch.cat([own, cells], 1), 1)  # [N, 1 + R]
        seen = weighted_sum(weights[:, 1:], first_rows(state["cells"], rows))  # [N, H]
        return weights[:, :1] * sentinel + seen, weights[:, 1:]
