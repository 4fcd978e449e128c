"""VSRN's graph layer: identity at first, the formula by loop, masked regions out of it."""

import torch

from tellapart.models.layers.region_graph import RegionReasoning


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
