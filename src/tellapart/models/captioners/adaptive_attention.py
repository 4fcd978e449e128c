"""AdaptiveAttention (Lu et al. 2017; contrastive captioning paper, section 5.2): attention with a visual sentinel.

Symbols: x_t the word read, v_g the whole image, V its cells, h_t and c_t the LSTM's output and memory, s_t the visual
sentinel. The attended vector does not enter the LSTM, so a given caption needs one pass of it.
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
    """Dropout of words, projected images, LSTM output and sentinel, and before words are predicted."""
    attention_dropout: float = 0.5
    """Dropout inside the comparison of cells with the LSTM's output."""
    scaling: str = "none"
    """Scaling of image features: none, layer (each row standardised) or unit (each row to length one)."""
    tied: bool = False
    """Use one table to embed and to predict words."""

    def build(self, inputs: ModelInputs) -> AdaptiveAttentionModel:
        """The model with random weights."""
        return AdaptiveAttentionModel(self, len(inputs.vocabulary), inputs.feature_width)


class AdaptiveAttentionModel(nn.Module):
    """See `AdaptiveAttention`."""

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
        """The state before the first word."""
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
        """Logits of the next word [N, V] after words [N], the new state, and attention [N, R]."""
        word_input = self.advance(
            self.word_input(word) if self.training else per_distinct_word(self.word_input, word), state
        )
        return Step(self.logits(word_input.hidden), word_input.state, word_input.attention)

    def word_input(self, words: Tensor) -> Tensor:
        """The share of words [n] and biases in the gates [n, 5H]."""
        gates = self._gates(self._word_inputs(words), slice(0, self.hidden))  # [n, 5H]
        _, _, input_bias, hidden_bias = self.lstm.all_weights[0]
        return gates + torch.cat([input_bias + hidden_bias, self.sentinel_gate.bias])

    def advance(self, word_input: Tensor, state: State) -> HiddenStep:
        """One step of the LSTM and the attention."""
        before = state["hidden"]
        of_lstm, of_sentinel = torch.split(
            add_image_gates(word_input, state["gates"], len(before)), [4 * self.hidden, self.hidden], 1
        )
        hidden, cell = lstm_step(torch.addmm(of_lstm, before, self.lstm.all_weights[0][1].T), state["cell"])
        gate = torch.sigmoid(torch.addmm(of_sentinel, before, self.sentinel_gate.weight[:, 2 * self.hidden :].T))
        output, sentinel, query, key = self._attention_inputs(hidden, gate * quick_tanh(cell))
        context, attention = self._attend(query, sentinel, key, state, len(hidden))
        combined = self.dropout(quick_tanh(self.combine(context + output)))
        return HiddenStep(combined, {**state, "hidden": hidden, "cell": cell}, attention)

    def read(self, state: State, tokens: Tensor) -> HiddenSequence:
        """Hidden vectors [C, T - 1, H] after all words but the last, in one pass of the LSTM.

        The sentinel needs tanh(c_t), which the fused LSTM does not return. As h_t = o_t tanh(c_t), it is h_t / o_t,
        and the output gate o_t is one matrix product for all steps.
        """
        ordered = longest_first(state, tokens)
        state = ordered.state
        inputs = self._inputs(ordered.tokens[:, :-1], state)  # [C, T - 1, 2H]
        memory = (state["hidden"].unsqueeze(0).contiguous(), state["cell"].unsqueeze(0).contiguous())
        output, _ = self.lstm(inputs, memory)  # [C, T - 1, H] h_t
        before = torch.cat([state["hidden"].unsqueeze(1), output[:, :-1]], 1)  # h_{t-1}
        # The output gate is the last of the four.
        of_input, of_hidden, input_bias, hidden_bias = (part.chunk(4)[3] for part in self.lstm.all_weights[0])
        output_gate = torch.sigmoid(
            functional.linear(inputs, of_input, input_bias) + functional.linear(before, of_hidden, hidden_bias)
        )
        gate = self.sentinel_gate(torch.cat([inputs, before], -1)).sigmoid()
        tiny = torch.finfo(output_gate.dtype).tiny
        sentinel = gate * output / output_gate.clamp(min=tiny)
        output, sentinel, query, key = self._attention_inputs(output, sentinel)
        if ordered.order is None:  # one large step uses a GPU better than many small ones
            query, sentinel, key = (part.flatten(0, 1) for part in (query, sentinel, key))
            found = self._attend(query, sentinel, key, state, len(tokens))
            context, attention = (torch.unflatten(part, 0, output.shape[:2]) for part in found)
            return HiddenSequence(self.dropout(quick_tanh(self.combine(context + output))), attention)
        contexts, attentions = [], []
        # Step by step, though steps are independent: all comparisons at once would not fit a CPU's cache, and only the
        # first `active[t]` captions still have a word to predict.
        for asking, own, own_key, rows in zip(query.unbind(1), sentinel.unbind(1), key.unbind(1), ordered.active):
            context, attention = self._attend(asking[:rows], own[:rows], own_key[:rows], state, rows)
            contexts.append(pad_rows(context, len(tokens)))
            attentions.append(pad_rows(attention, len(tokens)))
        combined = self.dropout(quick_tanh(self.combine(torch.stack(contexts, 1) + output)))
        return HiddenSequence(ordered.restore(combined), ordered.restore(torch.stack(attentions, 1)))

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden [..., H] -> logits [..., V]."""
        return self.words.logits(hidden)

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        """Logits [C, T - 1, V] and attention [C, T - 1, R] for given captions [C, T]."""
        read = self.read(self.start(images), tokens)
        return Forced(self.logits(read.hidden), read.attention)

    def _word_inputs(self, words: Tensor) -> Tensor:
        """x_t [..., H] of words [...]."""
        result: Tensor = self.dropout(torch.relu(self.words(words)))
        return result

    def _inputs(self, words: Tensor, state: State) -> Tensor:
        """[x_t; v_g] [C, T, 2H] of words [C, T]."""
        read = self._word_inputs(words)  # [C, T, H]
        return torch.cat([read, state["whole"].unsqueeze(1).expand_as(read)], -1)

    def _gates(self, part: Tensor, place: slice) -> Tensor:
        """What one part of [x_t; v_g] adds to the gates of the LSTM and then of the sentinel [N, 5H]."""
        of_lstm = functional.linear(part, self.lstm.all_weights[0][0][:, place])
        return torch.cat([of_lstm, functional.linear(part, self.sentinel_gate.weight[:, place])], -1)

    def _attention_inputs(self, output: Tensor, sentinel: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """h_t and s_t [..., H] after their layers, and the query and the sentinel's key [..., A] of the attention."""
        sentinel = self.dropout(torch.relu(self.sentinel(self.dropout(sentinel))))
        output = self.dropout(quick_tanh(self.output(self.dropout(output))))
        return output, sentinel, self.query(output), self.sentinel_key(sentinel)

    def _attend(
        self, query: Tensor, sentinel: Tensor, sentinel_key: Tensor, state: State, rows: int
    ) -> tuple[Tensor, Tensor]:
        """The weighted sum of cells and sentinel [N, H] and the cells' weights [N, R], for N queries about the images
        of the first `rows` hypotheses, equally many per image."""
        own = self.attend(sentinel_key.unsqueeze(1), query)  # [N, 1]
        cells = self.attend(first_rows(state["keys"], rows), query, first_rows(state["mask"], rows))  # [N, R]
        weights = functional.softmax(torch.cat([own, cells], 1), 1)  # [N, 1 + R]
        attended = weighted_sum(weights[:, 1:], first_rows(state["cells"], rows))  # [N, H]
        return weights[:, :1] * sentinel + attended, weights[:, 1:]
