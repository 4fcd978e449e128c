"""SCAN's stacked cross attention for all images x all captions at once, without attended vectors.

Text-to-image (grounded captioning paper, Eqs. 4-6): every word e_t attends to the regions v_i of an image and is
compared with the attended vector a_t = sum_i alpha_it v_i. That comparison needs a_t only through two numbers,

    e_t . a_t = sum_i alpha_it (v_i . e_t)        |a_t|^2 = alpha_t^T G alpha_t,   G_ij = v_i . v_j,

so word-region dot products and each image's Gram matrix G are enough. Image-to-text is the same with the roles
swapped. Below, "queries" (the words, Y per set) attend to "contexts" (the regions, X per set).

Pairs are scored in blocks that fit a memory limit. The backward pass computes each block again and uses the closed form
of its gradient, so it too stays within the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.types import Encoded
from tellapart.models.layers.attention_blocks import (
    Arranged,
    arrange,
    clean,
    contexts_of,
    counted_queries,
    joined_queries,
    queries_of,
    split_blocks,
)
from tellapart.models.layers.half_product import can_multiply, half_left, half_right, scaled_product
from tellapart.models.layers.kernels import compiles
from tellapart.models.layers.split_product import product_of

AGGREGATIONS = ("mean", "sum", "max", "logsumexp")
DIRECTIONS = ("t2i", "i2t")
EPS = 1e-8
BLOCK = {"cpu": 1 << 18, "cuda": 1 << 25}
"""Word-region similarities held at once: few enough for the cache of a CPU, many for a GPU."""

LARGEST = 64
"""The most vectors of a set for the GPU kernel, which keeps a pair's similarities in registers."""


@dataclass(frozen=True)
class Attention:
    """Settings of the cross attention. SCAN has t2i with temperature 9, i2t with 4."""

    direction: str = "t2i"
    """t2i: words attend to regions; i2t: regions attend to words."""
    temperature: float = 9.0
    """lambda (tau in the grounded captioning paper): a larger one concentrates the attention."""
    aggregation: str = "mean"
    """Aggregation of a pair's similarities: mean, sum, max or logsumexp."""
    sharpness: float = 6.0
    """lambda of logsumexp: log(sum exp(sharpness r)) / sharpness."""
    leak: float = 0.0
    """Slope for negative similarities. 0 is the paper's [x]_+; the released code has 0.1."""

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise InputError(f"direction must be {' or '.join(DIRECTIONS)}, not '{self.direction}'.")
        if self.aggregation not in AGGREGATIONS:
            raise InputError(f"aggregation must be one of {', '.join(AGGREGATIONS)}, not '{self.aggregation}'.")


def cross_attention(images: Encoded, texts: Encoded, attention: Attention, block: int | None = None) -> Tensor:
    """Scores of all images with all captions [I, C]; `block` limits the similarities held at once."""
    contexts, queries = (images, texts) if attention.direction == "t2i" else (texts.of_counted(), images)
    limit = block or BLOCK.get(contexts.vectors.device.type, BLOCK["cpu"])
    with torch.autocast(contexts.vectors.device.type, enabled=False):
        context_sets, query_sets = arrange(contexts), arrange(queries)
        scores: Tensor = _Scores.apply(  # type: ignore[no-untyped-call]
            context_sets.vectors, query_sets.vectors, context_sets, query_sets, attention, limit
        )
    scores = scores[context_sets.back][:, query_sets.back]
    return scores if attention.direction == "t2i" else scores.t()


@torch.no_grad()
def attention_weights(images: Encoded, texts: Encoded, attention: Attention) -> Tensor:
    """alpha [N, T, R]: the attention of the words of caption n over image n; zero rows for words that do not count.

    Without gradient: it serves as a target. For image-to-text, the attention of regions over words [N, R, T].
    """
    contexts, queries = (images, texts) if attention.direction == "t2i" else (texts.of_counted(), images)
    context_vectors, context_mask, _ = clean(contexts)
    query_vectors, _, counted = clean(queries)
    similarity = context_vectors @ query_vectors.transpose(1, 2)  # [N, X, Y]
    weights = _weights(similarity.unsqueeze(-1), context_mask, attention).squeeze(-1)  # [N, X, Y]
    return weights.transpose(1, 2) * counted.unsqueeze(-1)


def _weights(similarity: Tensor, context_mask: Tensor | None, attention: Attention) -> Tensor:
    """alpha (Eq. 5) from s [n, X, Y, m]: normalised over a query set (Y), then softmax over contexts (X).

    Masked queries have s = 0 and do not count in the norm.
    """
    raw = F.leaky_relu(similarity, attention.leak)
    raw.mul_(attention.temperature / _norm(raw).unsqueeze(2))
    if context_mask is not None:
        raw.masked_fill_(~context_mask[:, :, None, None], float("-inf"))
    return raw.softmax(1)


def _norm(raw: Tensor) -> Tensor:
    """sqrt(sum_t s_it^2) + eps, over the words of each caption: [n, X, m]."""
    if raw.is_cuda:  # reads the block once; a square would be written and read again
        length: Tensor = torch.linalg.vector_norm(raw, dim=2)
        return length + EPS
    return raw.square().sum(2).sqrt() + EPS  # on a CPU far faster than vector_norm over a strided axis


def _aggregate(cosines: Tensor, mask: Tensor, counts: Tensor, attention: Attention) -> Tensor:
    """One score per pair [n, m] from its similarities [n, Y, m] (Eq. 6 for mean)."""
    keep = mask.t().unsqueeze(0)  # [1, Y, m]
    if attention.aggregation == "max":
        return cosines.masked_fill(~keep, float("-inf")).amax(1)
    if attention.aggregation == "logsumexp":
        sharp = (attention.sharpness * cosines).masked_fill(~keep, float("-inf"))
        return sharp.logsumexp(1) / attention.sharpness
    total = cosines.masked_fill(~keep, 0).sum(1)
    return total if attention.aggregation == "sum" else total / counts


@dataclass(frozen=True)
class _Block:
    """Values of n context sets x m query sets; the backward pass needs all of them."""

    similarity: Tensor  # s [n, X, Y, m]
    weights: Tensor  # alpha [n, X, Y, m]
    gram_weights: Tensor  # G alpha [n, X, Y, m]
    attended_square: Tensor  # |a|^2 [n, Y, m]
    cosines: Tensor  # r [n, Y, m]
    floor: Tensor  # True where |e||a| was raised to EPS


def _score_block(products: Tensor, gram: Tensor, mask: Tensor | None, lengths: Tensor, attention: Attention) -> _Block:
    """The values of a block, from the products of contexts and queries [n X, Y m], gram [n, X, X] and lengths
    [Y, m]."""
    (n, x, _), (y, m) = gram.shape, lengths.shape
    similarity = products.view(n, x, y, m)
    weights = _weights(similarity, mask, attention)
    gram_weights = (gram @ weights.view(n, x, y * m)).view(n, x, y, m)
    dot = (weights * similarity).sum(1)  # e . a  [n, Y, m]
    attended_square = (weights * gram_weights).sum(1)  # |a|^2
    product = lengths * attended_square.clamp(min=0).sqrt()
    return _Block(similarity, weights, gram_weights, attended_square, dot / product.clamp(min=EPS), product <= EPS)


def _block_gradient(
    block: _Block, slope: Tensor, attention: Attention, lengths: Tensor, always: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """From dL/dr [n, Y, m] to dL/ds [n, X, Y, m], dL/dG [n, X, X] and dL/d|e| [Y, m].

    A cosine does not change when alpha is scaled, so alpha . dL/dalpha = 0 and the gradient of the softmax is
    alpha * dL/dalpha. That fails where EPS bounds a cosine; `always` corrects it without checking whether it occurs.
    """
    n, x, y, m = block.similarity.shape
    product = (lengths * block.attended_square.clamp(min=0).sqrt()).clamp(min=EPS)
    per_dot = (slope / product).unsqueeze(1)  # dL/d(e . a)
    live = slope.masked_fill(block.floor, 0) * block.cosines
    per_square = -(live / block.attended_square.clamp(min=EPS * EPS)).unsqueeze(1)  # 2 dL/d|a|^2
    scaled = block.weights * per_square
    gram_slope = 0.5 * scaled.view(n, x, y * m) @ block.weights.view(n, x, y * m).transpose(1, 2)
    weight_slope = scaled.mul_(block.gram_weights).add_(block.weights * block.similarity * per_dot)  # alpha dL/dalpha
    if always or bool((block.floor & (slope != 0)).any()):
        weight_slope -= block.weights * weight_slope.sum(1, keepdim=True)
    raw = F.leaky_relu(block.similarity, attention.leak)
    norm = _norm(raw).unsqueeze(2)  # [n, X, 1, m]
    along = (weight_slope * raw).sum(2, keepdim=True) / (norm.square() * (norm - EPS).clamp(min=EPS))
    through = (weight_slope.div_(norm).sub_(raw * along)).mul_(attention.temperature)
    through = torch.where(block.similarity > 0, through, attention.leak * through)
    similarity_slope = through.add_(block.weights * per_dot)
    length_slope = -(live / lengths.clamp(min=EPS)).sum(0)  # [Y, m]
    return similarity_slope, gram_slope, length_slope


def _by_kernel(example: Tensor, context_sets: Arranged, query_sets: Arranged) -> bool:
    """Whether one GPU kernel computes the scores. Not while a step is recorded, when nothing may be compiled."""
    sizes = max((*context_sets.sizes, *query_sets.sizes), default=0)
    if not example.is_cuda or example.dtype != torch.float32 or context_sets.recorded or not sizes:
        return False
    return sizes <= LARGEST and can_multiply() and compiles(example.device)


def _kernel_scores(
    scores: Tensor, context_vectors: Tensor, query_vectors: Tensor, context_sets: Arranged, query_sets: Arranged,
    attention: Attention, limit: int,
) -> None:  # fmt: skip
    """Fill scores [N, M] block by block, with one kernel per block after its products; queries have no padding."""
    from tellapart.models.layers.cross_attention_kernel import score_kernel

    settings = attention.temperature, attention.leak, attention.aggregation, attention.sharpness, EPS
    parts = split_blocks(query_sets.sizes, limit)
    joined = [joined_queries(query_vectors, query_sets, part) for part in parts]
    words = [half_right(queries.vectors.t()) for queries in joined]
    for rows in split_blocks(context_sets.sizes, limit):
        contexts, gram, mask = contexts_of(context_vectors, context_sets, rows)
        regions = half_left(contexts.flatten(0, 1))
        for (first, last, longest), queries, factor in zip(parts, joined, words):
            products, shrink = scaled_product(regions, factor)
            score_kernel(
                products, shrink, gram, mask,
                lengths=queries.lengths, counted=queries.counted, starts=queries.starts, longest=longest,
                scores=scores[rows[0] : rows[1], first:last], settings=settings,
            )  # fmt: skip


class _Scores(torch.autograd.Function):
    """Scores [N, M] of arranged contexts with arranged queries, block by block, forward and backward."""

    @staticmethod
    def forward(
        ctx: Any, context_vectors: Tensor, query_vectors: Tensor, context_sets: Arranged, query_sets: Arranged,
        attention: Attention, limit: int,
    ) -> Tensor:  # fmt: skip
        ctx.save_for_backward(context_vectors, query_vectors)
        ctx.context_sets, ctx.query_sets, ctx.attention, ctx.limit = context_sets, query_sets, attention, limit
        scores = context_vectors.new_empty(len(context_sets.sizes), len(query_sets.sizes))
        if _by_kernel(context_vectors, context_sets, query_sets):
            _kernel_scores(
                scores, context_vectors, query_vectors, context_sets, query_sets, attention=attention, limit=limit
            )
            return scores
        product = product_of(context_vectors)
        parts = split_blocks(query_sets.sizes, limit)
        queries = [queries_of(query_vectors, part) for part in parts]
        words = [product.right(vectors.flatten(0, 1).t()) for vectors, _ in queries]  # [E, Y m] each
        for rows in split_blocks(context_sets.sizes, limit):
            contexts, gram, mask = contexts_of(context_vectors, context_sets, rows)
            regions = product.left(contexts.flatten(0, 1))  # [n X, E]
            for columns, (_, lengths), factor in zip(parts, queries, words):
                block = _score_block(product(regions, factor), gram, mask, lengths, attention)
                scores[rows[0] : rows[1], columns[0] : columns[1]] = _aggregate(
                    block.cosines, *counted_queries(query_sets, columns), attention
                )
        return scores

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        context_vectors, query_vectors = ctx.saved_tensors
        context_sets, query_sets, attention, limit = ctx.context_sets, ctx.query_sets, ctx.attention, ctx.limit
        parts = split_blocks(query_sets.sizes, limit)
        queries = [queries_of(query_vectors, part) for part in parts]
        query_slopes = [torch.zeros_like(vectors) for vectors, _ in queries]
        length_slopes = [torch.zeros_like(lengths) for _, lengths in queries]
        context_total = torch.zeros_like(context_vectors)
        for first, last, longest in split_blocks(context_sets.sizes, limit):
            contexts, gram, mask = contexts_of(context_vectors, context_sets, (first, last, longest))
            context_slope, gram_slope = torch.zeros_like(contexts), torch.zeros_like(gram)
            for place, columns in enumerate(parts):
                vectors, lengths = queries[place]
                products = contexts.flatten(0, 1) @ vectors.flatten(0, 1).t()
                block = _score_block(products, gram, mask, lengths, attention)
                part = slope[first:last, columns[0] : columns[1]]
                cosine_slope = _aggregation_slope(block.cosines, counted_queries(query_sets, columns), attention, part)
                similarity, gram_part, length_part = _block_gradient(
                    block, cosine_slope, attention, lengths, always=context_sets.recorded
                )
                flat = similarity.view(contexts.shape[0] * contexts.shape[1], -1)  # [n X, Y m]
                context_slope += (flat @ vectors.flatten(0, 1)).view_as(contexts)
                query_slopes[place] += (flat.t() @ contexts.flatten(0, 1)).view_as(vectors)
                gram_slope += gram_part
                length_slopes[place] += length_part
            context_total[first:last, :longest] = context_slope + 2 * gram_slope @ contexts
        query_total = torch.zeros_like(query_vectors)
        for place, (first, last, longest) in enumerate(parts):
            vectors, lengths = queries[place]
            direction = vectors / lengths.clamp(min=EPS).unsqueeze(-1)
            total = query_slopes[place] + length_slopes[place].unsqueeze(-1) * direction  # [Y, m, E]
            query_total[first:last, :longest] = total.transpose(0, 1)
        return context_total, query_total, None, None, None, None


def _aggregation_slope(cosines: Tensor, mask: tuple[Tensor, Tensor], attention: Attention, slope: Tensor) -> Tensor:
    """dL/dr [n, Y, m] from dL/dscores [n, m], by autograd: it is small compared with a block."""
    with torch.enable_grad():
        cosines = cosines.detach().requires_grad_()
        return torch.autograd.grad(_aggregate(cosines, *mask, attention), cosines, slope)[0]
