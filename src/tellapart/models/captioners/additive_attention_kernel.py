"""Additive attention with its softmax in one GPU kernel per step (Triton), for `loop_attention.py`.

In torch, tanh(key + query) passes through memory several times at every word of a caption, forward and backward.
Here it stays in registers and is computed again where the backward pass needs it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

WIDTH = 64
"""Numbers of a key compared at once."""
WARPS = 8


@triton.jit
def _tanh(values):  # type: ignore[no-untyped-def]
    return 2 * tl.sigmoid(2 * values) - 1


@triton.jit  # type: ignore[untyped-decorator]
def _weights_kernel(  # type: ignore[no-untyped-def]
    keys, query, weight, mask, weights, R: tl.constexpr, A: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr
):
    """alpha [R] of caption program_id(0): the softmax of w . tanh(key + query)."""
    caption = tl.program_id(0).to(tl.int64)
    r = tl.arange(0, ROWS)
    scores = tl.zeros([ROWS], dtype=tl.float32)
    for first in range(0, A, WIDTH):
        a = first + tl.arange(0, WIDTH)
        both = (r < R)[:, None] & (a < A)[None, :]
        key = tl.load(keys + caption * R * A + r[:, None] * A + a[None, :], mask=both, other=0.0)
        asked = tl.load(query + caption * A + a, mask=a < A, other=0.0)
        scale = tl.load(weight + a, mask=a < A, other=0.0)
        scores += tl.sum(_tanh(key + asked[None, :]) * scale[None, :], 1)
    kept = tl.load(mask + caption * R + r, mask=r < R, other=0) != 0
    scores = tl.where(kept, scores, float("-inf"))
    shares = tl.exp(scores - tl.max(scores, 0))
    tl.store(weights + caption * R + r, shares / tl.sum(shares, 0), mask=r < R)


@triton.jit  # type: ignore[untyped-decorator]
def _query_slope_kernel(  # type: ignore[no-untyped-def]
    keys, query, weight, weights, weight_slopes, score_slopes, query_slopes,
    R: tl.constexpr, A: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """From dL/dalpha [R] of caption program_id(0) to dL/dscores [R] and dL/dquery [A]."""
    caption = tl.program_id(0).to(tl.int64)
    r = tl.arange(0, ROWS)
    alpha = tl.load(weights + caption * R + r, mask=r < R, other=0.0)
    slope = tl.load(weight_slopes + caption * R + r, mask=r < R, other=0.0)
    slope = alpha * (slope - tl.sum(alpha * slope, 0))
    tl.store(score_slopes + caption * R + r, slope, mask=r < R)
    for first in range(0, A, WIDTH):
        a = first + tl.arange(0, WIDTH)
        both = (r < R)[:, None] & (a < A)[None, :]
        key = tl.load(keys + caption * R * A + r[:, None] * A + a[None, :], mask=both, other=0.0)
        asked = tl.load(query + caption * A + a, mask=a < A, other=0.0)
        scale = tl.load(weight + a, mask=a < A, other=0.0)
        compared = _tanh(key + asked[None, :])
        total = tl.sum(slope[:, None] * (1 - compared * compared), 0) * scale
        tl.store(query_slopes + caption * A + a, total, mask=a < A)


@triton.jit(do_not_specialize=["steps", "captions"])  # type: ignore[untyped-decorator]
def _key_slope_kernel(  # type: ignore[no-untyped-def]
    keys, queries, weight, score_slopes, key_slopes, scale_slopes, steps, captions,
    R: tl.constexpr, A: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """dL/dkeys [R, WIDTH] and dL/dw [WIDTH] of caption program_id(0), added up over all steps."""
    caption = tl.program_id(0).to(tl.int64)
    r, a = tl.arange(0, ROWS), tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    both = (r < R)[:, None] & (a < A)[None, :]
    places = caption * R * A + r[:, None] * A + a[None, :]
    key = tl.load(keys + places, mask=both, other=0.0)
    scale = tl.load(weight + a, mask=a < A, other=0.0)
    key_slope = tl.zeros([ROWS, WIDTH], dtype=tl.float32)
    scale_slope = tl.zeros([WIDTH], dtype=tl.float32)
    for step in range(steps):
        row = step * captions + caption
        asked = tl.load(queries + row * A + a, mask=a < A, other=0.0)
        slope = tl.load(score_slopes + row * R + r, mask=r < R, other=0.0)
        compared = _tanh(key + asked[None, :])
        key_slope += slope[:, None] * (1 - compared * compared)
        scale_slope += tl.sum(slope[:, None] * compared, 0)
    tl.store(key_slopes + places, key_slope * scale[None, :], mask=both)
    tl.store(scale_slopes + caption * A + a, scale_slope, mask=a < A)


def attention_weights(keys: Tensor, query: Tensor, weight: Tensor, mask: Tensor) -> Tensor:
    """alpha [N, R] of keys [N, R, A], query [N, A], w [A] and mask [N, R] int8; all contiguous."""
    captions, rows, width = keys.shape
    weights = keys.new_empty(captions, rows)
    with torch.cuda.device(keys.device):  # Triton launches on the current GPU, whichever the tensors are on
        _weights_kernel[(captions,)](keys, query, weight, mask, weights, **_sizes(rows, width), num_warps=WARPS)
    return weights


def query_slopes(
    keys: Tensor, query: Tensor, weight: Tensor, weights: Tensor, weight_slopes: Tensor
) -> tuple[Tensor, Tensor]:
    """From dL/dalpha [N, R] to dL/dscores [N, R] and dL/dquery [N, A]."""
    captions, rows, width = keys.shape
    score_slopes, found = torch.empty_like(weights), torch.empty_like(query)
    with torch.cuda.device(keys.device):
        _query_slope_kernel[(captions,)](
            keys, query, weight, weights,
            weight_slopes=weight_slopes, score_slopes=score_slopes, query_slopes=found,
            **_sizes(rows, width), num_warps=WARPS,
        )  # fmt: skip
    return score_slopes, found


def key_slopes(keys: Tensor, queries: Tensor, weight: Tensor, score_slopes: Tensor) -> tuple[Tensor, Tensor]:
    """dL/dkeys [N, R, A] and dL/dw [A] from the queries [T, N, A] and dL/dscores [T, N, R] of all steps."""
    captions, rows, width = keys.shape
    found, scales = torch.empty_like(keys), keys.new_empty(captions, width)
    with torch.cuda.device(keys.device):
        _key_slope_kernel[(captions, triton.cdiv(width, WIDTH))](
            keys, queries, weight, score_slopes,
            key_slopes=found, scale_slopes=scales, steps=len(queries), captions=captions,
            **_sizes(rows, width), num_warps=4,
        )  # fmt: skip
    return found, scales.sum(0)


def _sizes(rows: int, width: int) -> dict[str, int]:
    return {"R": rows, "A": width, "ROWS": max(16, triton.next_power_of_2(rows)), "WIDTH": WIDTH}
