"""Attention by the formula written out: in blocks, with queries that share an image, by the quick tanh and without."""

import pytest
import torch

from tellapart.models.captioners import additive_attention
from tellapart.models.captioners.additive_attention import AdditiveAttention, weighted_sum

EACH = 3


@pytest.mark.parametrize("at_once", [1, 60, 10**6])
def test_attention_in_blocks(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """w . tanh(key + query) written out, whatever the blocks; with and without gradients; nothing where no cell is."""
    monkeypatch.setitem(additive_attention.COMPARED_AT_ONCE, "cpu", at_once)
    torch.manual_seed(0)
    attend, keys, query = AdditiveAttention(6), torch.randn(4, 5, 6), torch.randn(4 * EACH, 6)
    mask = torch.arange(5) < torch.tensor([[5], [1], [3], [4]])
    expected = attend.weigh(torch.tanh(keys.repeat_interleave(EACH, 0) + query.unsqueeze(1))).squeeze(2)
    expected = expected.masked_fill(~mask.repeat_interleave(EACH, 0), -torch.inf)
    torch.testing.assert_close(attend(keys, query, mask), expected, atol=1e-6, rtol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(attend(keys, query, mask), expected, atol=1e-6, rtol=1e-5)
    weights = expected.softmax(1)
    seen = torch.einsum("nr,nrh->nh", weights, keys.repeat_interleave(EACH, 0))
    torch.testing.assert_close(weighted_sum(weights, keys), seen)


def test_attention_dropout_and_gradient() -> None:
    """Quick and plain forms agree in value and gradient: float64 takes the plain one."""
    torch.manual_seed(0)
    attend = AdditiveAttention(6, dropout=0.5).train()
    keys, query = torch.randn(4, 5, 6), torch.randn(8, 6)
    found = []
    for kind in (torch.float32, torch.float64):
        torch.manual_seed(3)  # masks are drawn alike in both precisions
        part = query.to(kind).requires_grad_()
        scores = attend.to(kind)(keys.to(kind), part)
        found.append((scores.detach().float(), torch.autograd.grad(scores.square().sum(), part)[0].float()))
    for quick, plain in zip(*found):
        torch.testing.assert_close(quick, plain, atol=1e-4, rtol=1e-4)
