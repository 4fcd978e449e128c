"""The GPU kernel of cross attention against the same scores in float64, and its joined queries."""

import itertools
from unittest.mock import Mock

import pytest
import torch
from torch.nn import functional

from tellapart.core.types import Encoded
from tellapart.models.layers import cross_attention as module
from tellapart.models.layers.attention_blocks import ALIGNED, arrange, joined_queries
from tellapart.models.layers.cross_attention import AGGREGATIONS, Attention, cross_attention


def random_sets(count: int, longest: int, generator: torch.Generator, counted: bool = False) -> Encoded:
    vectors = functional.normalize(torch.randn(count, longest, 96, generator=generator, dtype=torch.float64), dim=-1)
    mask = torch.rand(count, longest, generator=generator) > 0.3
    mask[0] = False  # a set of nothing scores 0
    some = mask & (torch.rand(count, longest, generator=generator) > 0.5)
    return Encoded(vectors, mask, some | (mask & ~some.any(1, keepdim=True)) if counted else None)


def on_gpu(encoded: Encoded) -> Encoded:
    return Encoded(encoded.vectors.float(), encoded.mask, encoded.counted).to("cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("direction", "aggregation"), list(itertools.product(("t2i", "i2t"), AGGREGATIONS)))
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("block", [None, 3000])
def test_kernel_against_float64(direction: str, aggregation: str, counted: bool, block: int | None) -> None:
    pytest.importorskip("triton")
    generator = torch.Generator().manual_seed(0)
    images, texts = random_sets(20, 36, generator), random_sets(30, 26, generator, counted)
    attention = Attention(direction, 9.0, aggregation, 6.0, 0.1)
    exact = cross_attention(images, texts, attention)
    found = cross_attention(on_gpu(images), on_gpu(texts), attention, block)
    size = 36 if aggregation == "sum" else 1
    torch.testing.assert_close(found.cpu().double(), exact, atol=1e-6 * size, rtol=0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_gradients_after_the_kernel_are_those_of_float64() -> None:
    pytest.importorskip("triton")
    generator = torch.Generator().manual_seed(1)
    images, texts = random_sets(8, 36, generator), random_sets(9, 20, generator)
    slopes = []
    for moved in (images, on_gpu(images)):
        vectors = moved.vectors.detach().requires_grad_()
        others = texts if moved is images else on_gpu(texts)
        cross_attention(Encoded(vectors, moved.mask), others, Attention(leak=0.1)).sum().backward()
        assert vectors.grad is not None
        slopes.append(vectors.grad.cpu().double())
    torch.testing.assert_close(slopes[1], slopes[0], atol=1e-4, rtol=1e-4)


def test_a_cpu_has_no_kernel() -> None:
    images = Encoded(torch.randn(2, 3, 4))
    assert not module._by_kernel(images.vectors, arrange(images), arrange(images))


def test_a_torch_without_the_product_of_halves_scores_without_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    sets, example = arrange(Encoded(torch.randn(2, 3, 4))), Mock(is_cuda=True, dtype=torch.float32)
    monkeypatch.setattr(module, "compiles", lambda device: True)
    assert module._by_kernel(example, sets, sets)
    monkeypatch.setattr(torch.ops.aten.mm, "overloads", lambda: ["default", "out"])
    assert not module._by_kernel(example, sets, sets)


def test_joined_queries_have_no_padding_between_sets() -> None:
    encoded = random_sets(9, 7, torch.Generator().manual_seed(2), counted=True)
    sets = arrange(encoded)
    first, last = 2, 7
    joined = joined_queries(sets.vectors, sets, (first, last, sets.sizes[last - 1]))
    assert len(joined.vectors) % ALIGNED == 0 == len(joined.counted) % ALIGNED
    for place in range(first, last):
        begin, end = joined.starts[place - first : place - first + 2].tolist()
        assert end - begin == sets.sizes[place]
        assert torch.equal(joined.vectors[begin:end], sets.vectors[place, : sets.sizes[place]])
        assert torch.equal(joined.counted[begin:end], sets.counted[place, : sets.sizes[place]])
    assert not joined.vectors[int(joined.starts[-1]) :].any()
