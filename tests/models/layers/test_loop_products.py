"""Products whose matrix learns after the loop: equal to a plain loop, forward and backward."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import Tensor, nn

from tellapart.models.layers.loop_products import LoopLinear, LoopMix, LoopNorm


def numbers(*shape: int, seed: int = 0) -> Tensor:
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.requires_grad_()


def recurrent(first: Tensor, second: Tensor, base: Tensor, rows: list[int], late: bool) -> Tensor:
    """h_t = tanh(h A^T + h^2 B^T + base_t) for the first rows[t] rows, all outputs added up with different weights."""
    layer = LoopLinear((first, second), base) if late else None
    hidden, total = base.new_ones(rows[0], first.shape[1]), base.new_zeros(())
    for step, count in enumerate(rows):
        hidden = hidden[:count]
        if layer:
            hidden = layer(step, hidden, hidden**2).tanh()
        else:
            hidden = (hidden @ first.T + hidden**2 @ second.T + base[step, :count]).tanh()
        total = total + (step + 1) * hidden.sum()
    return total


@pytest.mark.parametrize("rows", [[3, 3, 3, 3], [3, 3, 2, 1], [3]])
def test_linear_is_a_plain_loop(rows: list[int]) -> None:
    inputs = numbers(5, 5), numbers(5, 5, seed=1), numbers(len(rows), 3, 5, seed=2)
    late, plain = (recurrent(*inputs, rows, late) for late in (True, False))
    assert torch.allclose(late, plain)
    for ours, theirs in zip(torch.autograd.grad(late, inputs), torch.autograd.grad(plain, inputs)):
        assert torch.allclose(ours, theirs)
    assert torch.autograd.gradcheck(lambda *given: recurrent(*given, rows, True), inputs)


def mixed(cells: Tensor, queries: Tensor, rows: list[int], late: bool) -> Tensor:
    """Each step asks with what the step before has seen."""
    mix = LoopMix(cells, len(rows)) if late else None
    asked, total = queries, cells.new_zeros(())
    for step, count in enumerate(rows):
        asked = asked[:count]
        weights = torch.einsum("nh,nrh->nr", asked, cells[:count]).softmax(1)
        asked = mix(step, weights) if mix else torch.einsum("nr,nrh->nh", weights, cells[:count])
        total = total + (step + 1) * (asked**2).sum()
    return total


@pytest.mark.parametrize("rows", [[3, 3, 3], [3, 2, 1]])
def test_mix_is_a_plain_loop(rows: list[int]) -> None:
    inputs = numbers(3, 4, 5), numbers(3, 5, seed=1)
    late, plain = (mixed(*inputs, rows, late) for late in (True, False))
    assert torch.allclose(late, plain)
    for ours, theirs in zip(torch.autograd.grad(late, inputs), torch.autograd.grad(plain, inputs)):
        assert torch.allclose(ours, theirs)
    assert torch.autograd.gradcheck(lambda *given: mixed(*given, rows, True), inputs)


def test_norm_is_layer_norm() -> None:
    norm = nn.LayerNorm(6, dtype=torch.float64)
    nn.init.normal_(norm.weight)
    rows = numbers(4, 3, 6)
    loop = LoopNorm(norm, 4)
    ours, theirs = torch.stack([loop(step, part) for step, part in enumerate(rows)]), norm(rows)
    assert torch.allclose(ours, theirs)
    weights = torch.arange(72.0, dtype=torch.float64).view(4, 3, 6)
    inputs = (rows, norm.weight, norm.bias)
    for one, other in zip(
        torch.autograd.grad((ours * weights).sum(), inputs), torch.autograd.grad((theirs * weights).sum(), inputs)
    ):
        assert torch.allclose(one, other)


def test_a_weight_that_does_not_learn() -> None:
    weight, base = numbers(5, 5).detach(), numbers(2, 3, 5, seed=2)
    late, plain = (torch.autograd.grad(recurrent(weight, weight, base, [3, 3], late), base) for late in (True, False))
    assert torch.allclose(late[0], plain[0])
    with torch.no_grad():
        assert LoopLinear((numbers(5, 5),), base).seen == []


def test_steps_out_of_order_are_rejected() -> None:
    layer = LoopLinear((numbers(2, 2),), numbers(3, 1, 2, seed=1))
    layer(0, torch.ones(1, 2, dtype=torch.float64))
    for step in (0, 2):
        with pytest.raises(ValueError, match="step must be 1"):
            layer(step, torch.ones(1, 2, dtype=torch.float64))
    mix = LoopMix(numbers(2, 3, 4), 2)
    with pytest.raises(ValueError, match="step must be 0"):
        mix(1, torch.ones(2, 3, dtype=torch.float64))


def test_in_bfloat16_as_near_as_it_can_be() -> None:
    inputs = [part.detach().float().requires_grad_() for part in (numbers(5, 5), numbers(5, 5, seed=1))]
    base = numbers(4, 3, 5, seed=2).detach().float()
    with torch.autocast("cpu", torch.bfloat16):
        late, plain = (recurrent(*inputs, base, [3] * 4, late) for late in (True, False))
    for ours, theirs in zip(torch.autograd.grad(late, inputs), torch.autograd.grad(plain, inputs)):
        assert (ours - theirs).norm() < 0.05 * theirs.norm()


def test_steps_never_taken_add_nothing() -> None:
    weight, base = numbers(2, 2), numbers(3, 1, 2, seed=1)
    layer = LoopLinear((weight,), base)
    total = layer(0, torch.tensor([[1.0, 2.0]], dtype=torch.float64)).sum()
    of_weight, of_base = torch.autograd.grad(total, (weight, base))
    assert of_weight.tolist() == [[1.0, 2.0], [1.0, 2.0]]
    assert of_base.squeeze(1).tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def test_the_graph_does_not_hold_itself() -> None:
    weight, base = numbers(4, 4), numbers(3, 2, 4, seed=1)
    layer = LoopLinear((weight,), base)
    hidden = base.new_ones(2, 4)
    for step in range(3):
        hidden = layer(step, hidden).tanh()
    gone = weakref.ref(layer.seen[1])
    gc.disable()
    try:
        del hidden, layer
        assert gone() is None
    finally:
        gc.enable()
