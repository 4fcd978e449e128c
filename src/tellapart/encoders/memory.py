"""The memories of R2M: fusion memory (Eqs. 1-4), recurrent memory with its relational gate (Eqs. 5-7), and the LSTM
that takes the recurrent memory's place in the paper's ablations.

Where the paper is silent, the relational memory core (Santoro et al. 2018), which it builds on, decides: one
projection to queries, keys and values with layer norm over it, residual and layer norm after attention and after a
two-layer MLP, gates for each unit, forget bias 1, scale 1/sqrt(key width). The first memory is all zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tellapart.errors import InputError
from tellapart.types import State


class FusionMemory(nn.Module):
    """f_t from the concepts' vector v and the word before, w_{t-1}: two rows that attend to each other in H heads."""

    def __init__(self, width: int, heads: int = 2, key_width: int = 256, value_width: int = 256) -> None:
        super().__init__()
        self.heads, self.key_width, self.value_width = heads, key_width, value_width
        self.project = nn.Linear(width, heads * (2 * key_width + value_width), bias=False)  # U_q, U_k, U_v
        self.fuse = nn.Linear(2 * heads * value_width, width)  # FC of Eq. 4

    def forward(self, concepts: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """v [N, d] and words [N, T, d] to f [N, T, d] and weights [N, T, H, 2, 2] (row: who asks; v first, then the
        word).

        f_t depends on nothing before t - 1, so all steps of a sentence are done at once.
        """
        count, steps, _ = words.shape
        seen = self.project(concepts).unsqueeze(1).expand(-1, steps, -1)  # [N, T, P]
        rows = torch.stack([seen, self.project(words)], 2)  # [N, T, 2, P]
        query, key, value = split_heads(rows, self.heads, self.key_width, self.value_width)  # [N, T, H, 2, ·]
        weights = (query @ key.transpose(-1, -2) / self.key_width**0.5).softmax(-1)  # Eq. 1: [N, T, H, 2, 2]
        mixed = weights @ value  # Eq. 2
        joined = mixed.transpose(2, 3).reshape(count, steps, -1)  # Eq. 3: [N, T, 2 H d_v]
        return self.fuse(joined), weights  # Eq. 4


class PlainFusion(nn.Module):
    """The ablation without fusion memory: f_t is a linear layer over v and w_{t-1} (Table 2, "D w/o FM")."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fuse = nn.Linear(2 * width, width)

    def forward(self, concepts: Tensor, words: Tensor) -> tuple[Tensor, None]:
        return self.fuse(torch.cat([concepts.unsqueeze(1).expand_as(words), words], 2)), None


@dataclass(frozen=True)
class Recalled:
    """A recurrence after each step of a sequence."""

    outputs: Tensor  # [N, T, S, d]
    weights: Tensor | None = None  # [N, T, H, S, S + J]: over the memory's own slots, then over what came in


class RecurrentMemory(nn.Module):
    """RM: S slots of width d that attend to themselves and to J incoming rows, then change through gates.

    Only what depends on the memory is computed step by step; the incoming rows' keys, values and gates are computed
    for the whole sequence at once.
    """

    def __init__(
        self,
        width: int,
        slots: int = 1,
        heads: int = 2,
        key_width: int = 256,
        value_width: int = 256,
        rows: int = 1,
    ) -> None:
        super().__init__()
        if heads * value_width != width:
            raise InputError(
                f"{heads} heads of value width {value_width} make {heads * value_width}, but the memory they are "
                f"added to is {width} wide; choose heads * value_width = width."
            )
        self.width, self.slots, self.heads = width, slots, heads
        self.key_width, self.value_width = key_width, value_width
        total = heads * (2 * key_width + value_width)
        self.project = nn.Linear(width, total)  # W_q, W_k, W_v of all heads
        self.project_norm = nn.LayerNorm(total)
        self.attended_norm = nn.LayerNorm(width)
        self.gain = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.gain_norm = nn.LayerNorm(width)
        self.gate_input = nn.Linear(rows * width, 2 * width)  # W_i, W_f and b_i, b_f
        self.gate_memory = nn.Linear(width, 2 * width, bias=False)  # U_i, U_f
        with torch.no_grad():
            self.gate_input.bias[:width] = 0.0
            self.gate_input.bias[width:] = 1.0

    def begin(self, count: int, like: Tensor) -> State:
        """M_0 = 0."""
        return {"memory": like.new_zeros(count, self.slots, self.width)}

    def step(self, incoming: Tensor, state: State) -> tuple[Tensor, State, Tensor]:
        """Incoming rows [N, J, d]; gives the memory [N, S, d], the state, and the weights [N, H, S, S + J]."""
        key, value, gate = (part[0] for part in self._prepare(incoming.unsqueeze(1)))
        memory, weights = self._advance(state["memory"], key, value, gate)
        return memory, {"memory": memory}, weights

    def sequence(self, incoming: Tensor, state: State) -> Recalled:
        """Incoming rows [N, T, J, d]."""
        memory = state["memory"]
        memories, weights = [], []
        for key, value, gate in zip(*self._prepare(incoming)):
            memory, weight = self._advance(memory, key, value, gate)
            memories.append(memory)
            weights.append(weight)
        return Recalled(torch.stack(memories, 1), torch.stack(weights, 1))

    def _prepare(self, incoming: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Keys and values [N, H, J, ·] and gates [N, 1, 2 d] of the incoming rows, a tuple over T of each."""
        rows = self.project_norm(self.project(incoming))  # [N, T, J, P]
        _, key, value = split_heads(rows, self.heads, self.key_width, self.value_width)  # [N, T, H, J, ·]
        gate = self.gate_input(incoming.flatten(2)).unsqueeze(2)  # [N, T, 1, 2 d]
        return key.unbind(1), value.unbind(1), gate.unbind(1)

    def _advance(self, memory: Tensor, key: Tensor, value: Tensor, gate: Tensor) -> tuple[Tensor, Tensor]:
        rows = self.project_norm(self.project(memory))  # [N, S, P]
        query, own_key, own_value = split_heads(rows, self.heads, self.key_width, self.value_width)
        keys = torch.cat([own_key, key], 2)  # [N, H, S + J, d_k]
        values = torch.cat([own_value, value], 2)
        weights = (query @ keys.transpose(-1, -2) / self.key_width**0.5).softmax(-1)  # Eq. 5: [N, H, S, S + J]
        mixed = (weights @ values).transpose(1, 2).flatten(2)  # Eq. 6: [N, S, d]
        attended = self.attended_norm(memory + mixed)
        gained = self.gain_norm(attended + self.gain(attended))  # M~_t
        write, keep = (gate + self.gate_memory(memory.tanh())).sigmoid().chunk(2, -1)
        return write * gained.tanh() + keep * memory, weights  # Eq. 7


class PlainRecurrence(nn.Module):
    """An LSTM in the recurrent memory's place (Table 2, "w/o Memory in RM"); its hidden state stands for the
    memory."""

    slots = 1

    def __init__(self, width: int, rows: int = 1) -> None:
        super().__init__()
        self.width = width
        self.lstm = nn.LSTM(rows * width, width, batch_first=True)

    def begin(self, count: int, like: Tensor) -> State:
        zero = like.new_zeros(count, 1, self.width)
        return {"memory": zero, "cell": zero}

    def step(self, incoming: Tensor, state: State) -> tuple[Tensor, State, None]:
        output, hidden, cell = self._run(incoming.unsqueeze(1), state)
        return output[:, 0].unsqueeze(1), {"memory": hidden, "cell": cell}, None

    def sequence(self, incoming: Tensor, state: State) -> Recalled:
        return Recalled(self._run(incoming, state)[0].unsqueeze(2))

    def _run(self, incoming: Tensor, state: State) -> tuple[Tensor, Tensor, Tensor]:
        before = (state["memory"].transpose(0, 1).contiguous(), state["cell"].transpose(0, 1).contiguous())
        output, (hidden, cell) = self.lstm(incoming.flatten(2), before)
        return output, hidden.transpose(0, 1), cell.transpose(0, 1)


def split_heads(rows: Tensor, heads: int, key_width: int, value_width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Projected rows [..., R, H (2 d_k + d_v)] to queries, keys and values [..., H, R, ·]; each head's lie side by
    side."""
    query, key, value = rows.unflatten(-1, (heads, -1)).split([key_width, key_width, value_width], -1)
    return query.transpose(-2, -3), key.transpose(-2, -3), value.transpose(-2, -3)
