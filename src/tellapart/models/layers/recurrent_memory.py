"""The recurrent memory of R2M with its relational gate (Eqs. 5-7), and the LSTM that replaces it in the ablations.

Details that the paper omits follow the relational memory core (Santoro et al. 2018), which it builds on: one projection
to queries, keys and values with layer norm, residual and layer norm after attention and after a two-layer MLP, gates
for each unit, forget bias 1, scale 1/sqrt(key width). The first memory is all zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.types import State
from tellapart.models.layers.fusion_memory import split_heads
from tellapart.models.layers.loop_products import LoopLinear, LoopNorm


@dataclass(frozen=True)
class MemorySequence:
    """The memory after each step of a sequence."""

    outputs: Tensor  # [N, T, S, d]
    weights: Tensor | None = None  # [N, T, H, S, S + J]: over the memory's slots, then over the incoming rows


@dataclass(frozen=True)
class MemoryLoop:
    """Inputs of every step of a recurrent memory: incoming rows by step, and the products with the memory."""

    keys: tuple[Tensor, ...]  # T of [N, H, J, d_k]
    values: tuple[Tensor, ...]  # T of [N, H, J, d_v]
    project: LoopLinear
    inner: LoopLinear
    outer: LoopLinear
    gate: LoopLinear
    project_norm: LoopNorm
    attended_norm: LoopNorm
    gain_norm: LoopNorm


class RecurrentMemory(nn.Module):
    """RM: S slots of width d that attend to themselves and to J incoming rows, and are updated through gates.

    Only what depends on the memory is computed step by step. The keys, values and gates of the incoming rows are
    computed for the whole sequence at once.
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
            raise InputError(f"heads * value_width must equal width, but {heads} * {value_width} is not {width}.")
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
        """incoming [N, J, d] -> memory [N, S, d], the new state, and weights [N, H, S, S + J]."""
        found = self.sequence(incoming.unsqueeze(1), state)
        memory = found.outputs[:, 0]
        return memory, {"memory": memory}, found.weights[:, 0]  # type: ignore[index]

    def sequence(self, incoming: Tensor, state: State) -> MemorySequence:
        """The memory after each step, for incoming rows [N, T, J, d]."""
        memory, loop = state["memory"], self._loop(incoming)
        memories, weights = [], []
        for step in range(incoming.shape[1]):
            memory, weight = self._advance(step, memory, loop)
            memories.append(memory)
            weights.append(weight)
        attention = torch.stack(weights, 1)
        if self._has_two_rows(incoming.shape[2]):
            attention = torch.cat([1 - attention, attention], -1)
        return MemorySequence(torch.stack(memories, 1), attention)

    def _loop(self, incoming: Tensor) -> MemoryLoop:
        """Incoming rows [N, T, J, d]."""
        count, steps = incoming.shape[:2]
        rows = self.project_norm(self.project(incoming))  # [N, T, J, P]
        _, key, value = split_heads(rows, self.heads, self.key_width, self.value_width)  # [N, T, H, J, ·]
        gate = self.gate_input(incoming.flatten(2)).transpose(0, 1).unsqueeze(2)  # [T, N, 1, 2 d]
        inner: nn.Linear = self.gain[0]  # type: ignore[assignment]
        outer: nn.Linear = self.gain[2]  # type: ignore[assignment]
        shape = (steps, count * self.slots, -1)
        return MemoryLoop(
            key.unbind(1),
            value.unbind(1),
            project=LoopLinear((self.project.weight,), self.project.bias.expand(shape)),
            inner=LoopLinear((inner.weight,), inner.bias.expand(shape)),
            outer=LoopLinear((outer.weight,), outer.bias.expand(shape)),
            gate=LoopLinear((self.gate_memory.weight,), gate.expand(-1, -1, self.slots, -1).flatten(1, 2)),
            project_norm=LoopNorm(self.project_norm, steps),
            attended_norm=LoopNorm(self.attended_norm, steps),
            gain_norm=LoopNorm(self.gain_norm, steps),
        )

    def _advance(self, step: int, memory: Tensor, loop: MemoryLoop) -> tuple[Tensor, Tensor]:
        flat = memory.flatten(0, 1)  # [N S, d]
        rows = torch.unflatten(loop.project_norm(step, loop.project(step, flat)), 0, memory.shape[:2])  # [N, S, P]
        mixed, weights = self._attend(rows, loop.keys[step], loop.values[step])  # Eqs. 5, 6
        attended = loop.attended_norm(step, flat + mixed.flatten(0, 1))
        gained = loop.gain_norm(step, attended + loop.outer(step, loop.inner(step, attended).relu()))  # M~_t
        write, keep = loop.gate(step, flat.tanh()).sigmoid().chunk(2, -1)
        return (write * gained.tanh() + keep * flat).view_as(memory), weights  # Eq. 7

    def _attend(self, rows: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Projected memory [N, S, P] and keys and values of the incoming rows [N, H, J, ·] -> Eq. 6's [N, S, d] and
        Eq. 5's weights [N, H, S, S + J]; for one slot and one row, the row's weight alone [N, H, 1, 1]."""
        query, own_key, own_value = split_heads(rows, self.heads, self.key_width, self.value_width)
        if self._has_two_rows(key.shape[2]):
            # A softmax over two is the sigmoid of their difference, and needs no matrix products of single rows.
            weights = ((query * (key - own_key)).sum(-1, keepdim=True) / self.key_width**0.5).sigmoid()
            return torch.lerp(own_value, value, weights).transpose(1, 2).flatten(2), weights
        keys = torch.cat([own_key, key], 2)  # [N, H, S + J, d_k]
        weights = (query @ keys.transpose(-1, -2) / self.key_width**0.5).softmax(-1)
        return (weights @ torch.cat([own_value, value], 2)).transpose(1, 2).flatten(2), weights

    def _has_two_rows(self, rows: int) -> bool:
        return self.slots == 1 and rows == 1


class PlainRecurrence(nn.Module):
    """An LSTM instead of the recurrent memory (Table 2, "w/o Memory in RM"); its hidden state is the memory."""

    slots = 1

    def __init__(self, width: int, rows: int = 1) -> None:
        super().__init__()
        self.width = width
        self.lstm = nn.LSTM(rows * width, width, batch_first=True)

    def begin(self, count: int, like: Tensor) -> State:
        """Zeros."""
        zero = like.new_zeros(count, 1, self.width)
        return {"memory": zero, "cell": zero}

    def step(self, incoming: Tensor, state: State) -> tuple[Tensor, State, None]:
        """incoming [N, J, d] -> memory [N, 1, d] and the new state."""
        output, hidden, cell = self._run(incoming.unsqueeze(1), state)
        return output[:, 0].unsqueeze(1), {"memory": hidden, "cell": cell}, None

    def sequence(self, incoming: Tensor, state: State) -> MemorySequence:
        """The memory after each step, for incoming rows [N, T, J, d]."""
        return MemorySequence(self._run(incoming, state)[0].unsqueeze(2))

    def _run(self, incoming: Tensor, state: State) -> tuple[Tensor, Tensor, Tensor]:
        before = (state["memory"].transpose(0, 1).contiguous(), state["cell"].transpose(0, 1).contiguous())
        output, (hidden, cell) = self.lstm(incoming.flatten(2), before)
        return output, hidden.transpose(0, 1), cell.transpose(0, 1)
