"""The memories against loops over images, heads and slots; sequences against steps."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import layer_norm

from tellapart.core.errors import InputError
from tellapart.models.layers.fusion_memory import FusionMemory, PlainFusion
from tellapart.models.layers.recurrent_memory import PlainRecurrence, RecurrentMemory


def head_parts(projected: Tensor, heads: int, key: int, value: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """One row's queries, keys and values, head by head."""
    size = 2 * key + value
    parts = [projected[head * size : (head + 1) * size] for head in range(heads)]
    return [(part[:key], part[key : 2 * key], part[2 * key :]) for part in parts]


def softmax(values: list[float]) -> list[float]:
    total = sum(math.exp(value) for value in values)
    return [math.exp(value) / total for value in values]


def naive_fusion(memory: FusionMemory, concepts: Tensor, word: Tensor) -> Tensor:
    """Eqs. 1-4 for one image and one word."""
    rows = [
        head_parts(memory.project(row), memory.heads, memory.key_width, memory.value_width) for row in (concepts, word)
    ]
    mixed = []
    for asking in range(2):
        for head in range(memory.heads):
            query = rows[asking][head][0]
            weights = softmax([float((query @ row[head][1]).detach()) / math.sqrt(memory.key_width) for row in rows])
            mixed.append(sum(weight * row[head][2] for weight, row in zip(weights, rows)))
    return memory.fuse(torch.cat(mixed))


def naive_recurrent(memory: RecurrentMemory, before: Tensor, incoming: Tensor) -> Tensor:
    """Eqs. 5-7 for one memory [S, d] and its incoming rows [J, d]."""
    normed = layer_norm

    def project(row: Tensor) -> list[tuple[Tensor, Tensor, Tensor]]:
        norm = memory.project_norm
        projected = normed(memory.project(row), (len(norm.weight),), norm.weight, norm.bias)
        return head_parts(projected, memory.heads, memory.key_width, memory.value_width)

    held, new = [project(row) for row in before], [project(row) for row in incoming]
    after = []
    for slot in range(len(before)):
        mixed = []
        for head in range(memory.heads):
            query = held[slot][head][0]
            scores = [float((query @ row[head][1]).detach()) / math.sqrt(memory.key_width) for row in held + new]
            mixed.append(sum(weight * row[head][2] for weight, row in zip(softmax(scores), held + new)))
        attended = memory.attended_norm(before[slot] + torch.cat(mixed))
        gain = memory.gain_norm(attended + memory.gain[2](memory.gain[0](attended).clamp(min=0)))
        gates = memory.gate_input(incoming.flatten()) + memory.gate_memory(before[slot].tanh())
        write, keep = gates[: memory.width].sigmoid(), gates[memory.width :].sigmoid()
        after.append(write * gain.tanh() + keep * before[slot])
    return torch.stack(after)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 999))
def test_fusion_memory_equals_a_loop_over_heads(heads: int, steps: int, seed: int) -> None:
    torch.manual_seed(seed)
    memory = FusionMemory(6, heads, key_width=4, value_width=3).double()
    concepts, words = torch.randn(2, 6, dtype=torch.double), torch.randn(2, steps, 6, dtype=torch.double)
    fused, weights = memory(concepts, words)
    assert fused.shape == (2, steps, 6) and weights.shape == (2, steps, heads, 2, 2)
    assert torch.allclose(weights.sum(-1), torch.ones(1, dtype=torch.double))
    for row in range(2):
        for step in range(steps):
            expected = naive_fusion(memory, concepts[row], words[row, step])
            assert torch.allclose(fused[row, step], expected, atol=1e-9)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 999))
def test_recurrent_memory_equals_a_loop_over_slots_and_heads(slots: int, heads: int, rows: int, seed: int) -> None:
    torch.manual_seed(seed)
    width = 3 * heads
    memory = RecurrentMemory(width, slots, heads, key_width=4, value_width=3, rows=rows).double()
    before = torch.randn(2, slots, width, dtype=torch.double)
    incoming = torch.randn(2, rows, width, dtype=torch.double)
    after, state, weights = memory.step(incoming, {"memory": before})
    assert state["memory"] is after and weights.shape == (2, heads, slots, slots + rows)
    for row in range(2):
        assert torch.allclose(after[row], naive_recurrent(memory, before[row], incoming[row]), atol=1e-9)


@pytest.mark.parametrize("slots,rows", [(1, 1), (2, 3)])
def test_a_sequence_equals_its_steps(slots: int, rows: int) -> None:
    torch.manual_seed(0)
    for recurrence in (RecurrentMemory(8, slots, 2, 5, 4, rows), PlainRecurrence(8, rows)):
        incoming = torch.randn(3, 6, rows, 8)
        state = recurrence.begin(3, incoming)
        whole = recurrence.sequence(incoming, state)
        for step in range(6):
            output, state, weights = recurrence.step(incoming[:, step], state)
            assert torch.allclose(whole.outputs[:, step], output, atol=1e-6)
            if weights is not None and whole.weights is not None:
                assert torch.allclose(whole.weights[:, step], weights, atol=1e-6)


def test_gates_by_hand() -> None:
    """With all gate weights zero and biases 0 and 1: g_i = s(0) = 0.5, g_f = s(1) = 0.7311.

    From M = 0 the new memory is 0.5 tanh(M~), so every unit lies in (-0.5, 0.5); from M = 2 it moves by 2 *
    0.7311 = 1.4621.
    """
    memory = RecurrentMemory(4, 1, 2, 2, 2)
    with torch.no_grad():
        memory.gate_input.weight.zero_()
        memory.gate_memory.weight.zero_()
    first, _, _ = memory.step(torch.randn(5, 1, 4), memory.begin(5, torch.zeros(1)))
    assert first.abs().max() < 0.5
    later, _, _ = memory.step(torch.randn(5, 1, 4), {"memory": torch.full((5, 1, 4), 2.0)})
    assert ((later - 1.4621).abs() < 0.5 + 1e-3).all()


def test_zero_memory_attends_by_its_bias_alone() -> None:
    """M_0 = 0 for every image: its query and key come from the projection's bias, whatever comes in."""
    memory = RecurrentMemory(4, 1, 2, 2, 2)
    start = memory.begin(3, torch.zeros(1))
    assert start["memory"].shape == (3, 1, 4) and not start["memory"].any()


@pytest.mark.parametrize(("slots", "rows"), [(1, 1), (2, 1), (2, 3)])
def test_gradients_of_a_sequence(slots: int, rows: int) -> None:
    """Of what comes in, by finite differences; of the weights, as steps one by one give them."""
    torch.manual_seed(1)
    memory = RecurrentMemory(4, slots, 2, 3, 2, rows).double()
    incoming = torch.randn(2, 3, rows, 4, dtype=torch.double, requires_grad=True)
    start = memory.begin(2, incoming)
    assert torch.autograd.gradcheck(lambda given: memory.sequence(given, start).outputs, (incoming,))
    weighing = torch.randn(2, 3, slots, 4, dtype=torch.double)
    state, outputs = start, []
    for step in range(3):
        output, state, _ = memory.step(incoming[:, step], state)
        outputs.append(output)
    weights = list(memory.parameters())
    stepped = torch.autograd.grad((torch.stack(outputs, 1) * weighing).sum(), weights)
    at_once = torch.autograd.grad((memory.sequence(incoming, start).outputs * weighing).sum(), weights)
    for one, other in zip(stepped, at_once):
        torch.testing.assert_close(one, other)


def test_nobody_to_remember() -> None:
    memory, fusion = RecurrentMemory(4, 1, 2, 3, 2), FusionMemory(4, 2, 3, 2)
    nothing = torch.zeros(0, 3, 1, 4)
    assert memory.sequence(nothing, memory.begin(0, nothing)).outputs.shape == (0, 3, 1, 4)
    assert fusion(torch.zeros(0, 4), torch.zeros(0, 3, 4))[0].shape == (0, 3, 4)


def test_gradients_in_double_precision() -> None:
    torch.manual_seed(1)
    fusion = FusionMemory(4, 2, 3, 2).double()
    incoming = torch.randn(2, 3, 1, 4, dtype=torch.double, requires_grad=True)
    concepts = torch.randn(2, 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda v, w: fusion(v, w)[0], (concepts, incoming.detach()[:, :, 0].requires_grad_())
    )


def test_heads_must_fill_the_memory() -> None:
    with pytest.raises(InputError, match="heads \\* value_width"):
        RecurrentMemory(512, 1, 2, 256, 100)


def test_plain_fusion_is_a_linear_layer() -> None:
    plain = PlainFusion(3)
    concepts, words = torch.randn(2, 3), torch.randn(2, 4, 3)
    fused, weights = plain(concepts, words)
    expected = plain.fuse(torch.cat([concepts[1], words[1, 2]]))
    assert weights is None and torch.allclose(fused[1, 2], expected, atol=1e-6)
