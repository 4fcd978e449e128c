"""Additive attention inside a training loop over time, by a GPU kernel where one runs.

As in `loop_products.py`, a step's backward pass computes the gradient of its query alone. Those of the keys and of w
are computed once, after the loop, from the queries and gradients of all steps.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

from tellapart.models.captioners.additive_attention import AdditiveAttention
from tellapart.models.captioners.teacher_forcing import first_rows
from tellapart.models.layers.kernels import compiles

LARGEST = 64
"""The most cells of an image for the kernel."""


class LoopAttention:
    """`attention(t, query)` is softmax(attend(keys, query, mask)) [N, R]; a loop of T steps calls it once per t.

    keys [P, R, A], mask [P, R]; query [N, A]. A step may have fewer than N rows, the first ones; not on a GPU, where
    captions stay in a batch to its end (`longest_first`).
    """

    def __init__(self, attend: AdditiveAttention, keys: Tensor, mask: Tensor, shape: tuple[int, int]) -> None:
        self.attend, self.keys, self.mask = attend, keys, mask
        steps, captions = shape
        self.by_kernel = captions == len(keys) and by_kernel(attend, keys)
        if self.by_kernel:
            weight, bias = attend.weigh.weight[0], attend.weigh.bias
            self.seen: list[Tensor] = []
            base = keys.new_zeros(()).expand(steps, captions, keys.shape[1])
            base = _KeysLater.apply(base, keys, weight, bias, self.seen)  # type: ignore[no-untyped-call]
            self.base = base.unbind(0)
            self.fixed = keys.detach().contiguous(), weight.detach().contiguous(), mask.to(torch.int8).contiguous()

    def __call__(self, step: int, query: Tensor) -> Tensor:
        if self.by_kernel:
            if len(query) != len(self.keys):  # the kernel would read beyond the end of the query
                raise ValueError(f"query must have {len(self.keys)} rows on a GPU, not {len(query)}")
            weights: Tensor = _Attend.apply(self.base[step], query, *self.fixed)  # type: ignore[no-untyped-call]
            self.seen.append(query.detach())
            return weights
        rows = len(query) if len(self.keys) > len(query) else len(self.keys)
        scores = self.attend(first_rows(self.keys, rows), query, first_rows(self.mask, rows))
        return functional.softmax(scores, -1)


def by_kernel(attend: AdditiveAttention, keys: Tensor) -> bool:
    """Whether a kernel computes this attention: for learning in float32, without dropout inside."""
    learns = torch.is_grad_enabled() and keys.requires_grad and keys.dtype == torch.float32
    plain = not (attend.training and attend.dropout > 0) and not torch.is_autocast_enabled(keys.device.type)
    return learns and plain and 0 < keys.shape[1] <= LARGEST and len(keys) > 0 and compiles(keys.device)


class _Attend(Function):
    """The weights of one step; `base` stands for the keys and receives dL/dscores."""

    @staticmethod
    def forward(ctx: Any, base: Tensor, query: Tensor, keys: Tensor, weight: Tensor, mask: Tensor) -> Tensor:
        from tellapart.models.captioners.additive_attention_kernel import attention_weights

        query = query.contiguous()
        weights = attention_weights(keys, query, weight, mask)
        ctx.save_for_backward(query, keys, weight, weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        from tellapart.models.captioners.additive_attention_kernel import query_slopes

        query, keys, weight, weights = ctx.saved_tensors
        score_slope, query_slope = query_slopes(keys, query, weight, weights, slope.contiguous())
        return score_slope, query_slope, None, None, None


class _KeysLater(Function):
    """The base unchanged; the backward pass also gives the gradients of the keys and of w, from all steps.

    That of the bias is zero: a softmax does not change when a number is added to all scores.
    """

    @staticmethod
    def forward(ctx: Any, base: Tensor, keys: Tensor, weight: Tensor, bias: Tensor, seen: list[Tensor]) -> Tensor:
        ctx.save_for_backward(keys, weight, bias)
        ctx.seen = seen
        return base.view_as(base)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, score_slopes: Tensor) -> tuple[Tensor | None, ...]:
        from tellapart.models.captioners.additive_attention_kernel import key_slopes

        keys, weight, bias = ctx.saved_tensors
        queries = torch.stack(ctx.seen)  # [t, N, A]
        slopes = score_slopes[: len(queries)].contiguous()
        key_slope, weight_slope = key_slopes(keys.contiguous(), queries, weight.contiguous(), slopes)
        return None, key_slope, weight_slope, torch.zeros_like(bias), None
