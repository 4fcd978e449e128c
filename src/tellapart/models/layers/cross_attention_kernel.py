"""Cross-attention scores from word-region products in one GPU kernel (Triton), for `cross_attention.py`.

In torch, a block of similarities passes through memory about eighteen times: slope, norm, softmax, G alpha and two
sums, each in a separate kernel. Here a program reads the similarities of an image with a caption once, keeps everything
in registers, and writes one number.
"""

from __future__ import annotations

import functools
import warnings

import torch
import triton
import triton.language as tl
from torch import Tensor

WARPS = 4
GROUP = 8
"""Captions per program, which share the Gram matrix of an image."""
GRAM_PRODUCT = "tf32x3"
"""How G alpha is multiplied: three products on tensor cores keep float32's digits."""
AGGREGATIONS = {"mean": 0, "sum": 1, "max": 2, "logsumexp": 3}


@triton.jit(do_not_specialize=["sets", "score_stride", "contexts"], do_not_specialize_on_alignment=["scores"])  # type: ignore[untyped-decorator]
def _score_kernel(  # type: ignore[no-untyped-def]
    products, shrink, grams, real_contexts, lengths, counted, starts, scores,
    sets, row_stride, score_stride, contexts, temperature, leak, sharpness, eps,
    MASKED: tl.constexpr, AGGREGATION: tl.constexpr, X: tl.constexpr, Y: tl.constexpr, GROUP: tl.constexpr,
    GRAM_PRODUCT: tl.constexpr,
):  # fmt: skip
    """Scores of context set program_id(0) with GROUP query sets; X and Y are powers of two, larger than any set."""
    place = tl.program_id(0)
    x, y = tl.arange(0, X), tl.arange(0, Y)
    real = x < contexts
    gram = tl.load(
        grams + place * contexts * contexts + x[:, None] * contexts + x[None, :],
        mask=real[:, None] & real[None, :],
        other=0.0,
    )  # [X, X]
    if MASKED:
        real = tl.load(real_contexts + place * contexts + x, mask=real, other=0) != 0
    rows = products + (place * contexts + x).to(tl.int64) * row_stride  # [X]
    unscaled = tl.load(shrink)
    for step in range(GROUP):
        column = tl.program_id(1) * GROUP + step
        if column < sets:
            first = tl.load(starts + column)
            inside = y < tl.load(starts + column + 1) - first
            similarity = (
                tl.load(rows[:, None] + (first + y)[None, :], mask=real[:, None] & inside[None, :], other=0.0)
                * unscaled
            )  # [X, Y]
            raw = tl.where(similarity > 0, similarity, leak * similarity)
            norm = tl.sqrt(tl.sum(raw * raw, 1)) + eps  # [X]
            logits = raw * (temperature / norm)[:, None]
            logits = tl.where(real[:, None], logits, float("-inf"))
            weights = tl.exp(logits - tl.max(logits, 0)[None, :])
            weights = weights / tl.sum(weights, 0)[None, :]  # alpha
            mixed = tl.dot(gram, weights, input_precision=GRAM_PRODUCT)  # G alpha
            square = tl.maximum(tl.sum(weights * mixed, 0), 0.0)  # |a|^2  [Y]
            dot = tl.sum(weights * similarity, 0)  # e . a
            length = tl.load(lengths + first + y, mask=inside, other=0.0)
            cosines = dot / tl.maximum(length * tl.sqrt(square), eps)
            keep = inside & (tl.load(counted + first + y, mask=inside, other=0) != 0)
            if AGGREGATION == 2:
                score = tl.max(tl.where(keep, cosines, float("-inf")), 0)
            elif AGGREGATION == 3:
                sharp = tl.where(keep, sharpness * cosines, float("-inf"))
                peak = tl.max(sharp, 0)
                score = (peak + tl.log(tl.sum(tl.exp(sharp - peak), 0))) / sharpness
            else:
                score = tl.sum(tl.where(keep, cosines, 0.0), 0)
                if AGGREGATION == 0:
                    score = score / tl.sum(keep.to(tl.float32), 0)
            tl.store(scores + place.to(tl.int64) * score_stride + column, score)


def score_kernel(
    products: Tensor, shrink: Tensor, gram: Tensor, mask: Tensor | None, lengths: Tensor, counted: Tensor,
    starts: Tensor, longest: int, scores: Tensor, settings: tuple[float, float, str, float, float],
) -> None:  # fmt: skip
    """Write scores [n, m] of n context sets with m query sets, whose vectors stand one after another without padding.

    products: [n X, W] similarities of contexts with all W vectors of the query sets, times a number; shrink [] takes it
        back.
    gram: [n, X, X]; mask: [n, X] the real contexts; lengths, counted: [W] of the query vectors.
    starts: [m + 1] int32, where each query set begins; longest: of the query sets.
    settings: temperature, leak, aggregation, sharpness, eps.
    """
    temperature, leak, aggregation, sharpness, eps = settings
    n, contexts, _ = gram.shape
    sets = len(starts) - 1
    with torch.cuda.device(products.device):  # Triton launches on the current GPU, whichever the tensors are on
        _score_kernel[(n, triton.cdiv(sets, GROUP))](
            products=products, shrink=shrink, grams=gram.contiguous(),
            real_contexts=products if mask is None else mask.to(torch.int8).contiguous(),
            lengths=lengths, counted=counted.to(torch.int8), starts=starts, scores=scores, sets=sets,
            row_stride=products.stride(0), score_stride=scores.stride(0), contexts=contexts,
            temperature=temperature, leak=leak, sharpness=sharpness, eps=eps,
            MASKED=mask is not None, AGGREGATION=AGGREGATIONS[aggregation],
            X=max(16, triton.next_power_of_2(contexts)), Y=max(16, triton.next_power_of_2(longest)), GROUP=GROUP,
            GRAM_PRODUCT=GRAM_PRODUCT, num_warps=WARPS,
        )  # fmt: skip


@functools.cache
def can_run(device: torch.device) -> bool:
    """Whether a kernel of Triton, which needs a C compiler besides the GPU, computes what it should here. If not, one
    warning says so."""
    one = torch.ones(1, device=device)
    starts, scores = torch.tensor([0, 1], dtype=torch.int32, device=device), torch.zeros(1, 1, device=device)
    try:
        score_kernel(
            products=one.view(1, 1), shrink=one, gram=one.view(1, 1, 1), mask=None, lengths=one, counted=one,
            starts=starts, longest=1, scores=scores, settings=(9.0, 0.0, "mean", 6.0, 1e-8),
        )  # fmt: skip
        fault = "" if abs(float(scores) - 1) < 1e-6 else f"it computes {float(scores):g} instead of 1"
    except Exception as error:  # whatever the compiler raises, torch computes the same without it
        fault = str(error).strip().partition("\n")[0] or type(error).__name__
    if fault:
        warnings.warn(f"No kernel of Triton runs on {device} ({fault}); torch computes the same, slower.", stacklevel=2)
    return not fault
