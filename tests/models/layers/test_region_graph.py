"""VSRN's graph layer: identity at first, the formula by loop, masked regions out of it."""

import copy

import torch
from torch import nn

from tellapart.core.recording import recorded
from tellapart.models.layers.region_graph import RegionReasoning, masked_norm


def test_it_starts_as_the_identity() -> None:
    regions, mask = torch.randn(2, 3, 4), torch.ones(2, 3, dtype=torch.bool)
    assert torch.equal(RegionReasoning(4)(regions, mask), regions)


def test_the_formula_by_loop() -> None:
    torch.manual_seed(0)
    layer = RegionReasoning(4).eval()
    torch.nn.init.normal_(layer.norm.weight)
    regions, mask = torch.randn(1, 3, 4), torch.ones(1, 3, dtype=torch.bool)
    found = layer(regions, mask)[0]
    rows = regions[0]
    for i in range(3):
        taken = torch.zeros(4)
        for j in range(3):
            affinity = layer.theta(rows[i]) @ layer.phi(rows[j]) / 3  # divided by N, no softmax
            taken = taken + affinity * layer.value(rows[j])
        assert torch.allclose(found[i], layer.norm(layer.out(taken).unsqueeze(0))[0] + rows[i], atol=1e-5)


def test_a_single_region_is_divided_by_one() -> None:
    torch.manual_seed(0)
    layer = RegionReasoning(4).eval()
    torch.nn.init.normal_(layer.norm.weight)
    row = torch.randn(4)
    affinity = layer.theta(row) @ layer.phi(row)
    expected = layer.norm(layer.out(affinity * layer.value(row)).unsqueeze(0))[0] + row
    for padding in (0, 2):
        regions = torch.cat([row.view(1, 1, 4), torch.ones(1, padding, 4)], 1)
        mask = torch.tensor([[True] + [False] * padding])
        assert torch.allclose(layer(regions, mask)[0, 0], expected, atol=1e-5)


def test_masked_regions_neither_give_nor_take() -> None:
    torch.manual_seed(0)
    layer = RegionReasoning(4).train()
    torch.nn.init.normal_(layer.norm.weight)
    regions = torch.randn(2, 3, 4)
    short = layer(regions, torch.ones(2, 3, dtype=torch.bool))
    padded = torch.cat([regions, torch.full((2, 2, 4), 9.0)], dim=1)
    mask = torch.tensor([[True] * 3 + [False] * 2] * 2)
    long = layer(padded, mask)
    assert torch.allclose(long[:, :3], short, atol=1e-5) and long[:, 3:].abs().max() == 0


def test_a_recorded_batch_norm_equals_torchs() -> None:
    """Over the rows that a mask keeps: the same rows, gradients and running values, where no row can be selected."""
    torch.manual_seed(0)
    plain = nn.BatchNorm1d(5)
    nn.init.normal_(plain.weight)
    nn.init.normal_(plain.bias)
    again = copy.deepcopy(plain)
    mask = torch.tensor([[True, True, False], [True, False, False], [True, True, True], [False, True, True]])
    given = [(2 * torch.randn(4, 3, 5) + 1).requires_grad_()]
    given.append(given[0].detach().clone().requires_grad_())
    for _ in range(2):
        expected = masked_norm(plain, given[0], mask)[mask]
        with recorded():
            found = masked_norm(again, given[1], mask)[mask]
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    weights = torch.randn_like(expected)
    (expected * weights).sum().backward()
    (found * weights).sum().backward()
    torch.testing.assert_close(given[1].grad[mask], given[0].grad[mask], atol=1e-5, rtol=1e-4)  # type: ignore[index]
    for name, value in plain.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], value, atol=1e-5, rtol=1e-5)
