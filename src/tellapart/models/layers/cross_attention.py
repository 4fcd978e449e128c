"""SCAN's stacked cross attention for all images x all sentences at once, without attended vectors.

Text-to-image (grounded captioning paper, Eqs. 4-6): every word e_t looks at the regions v_i of an image and
is compared with what it saw, a_t = sum_i alpha_it v_i. That comparison needs a_t only through two numbers,

    e_t . a_t = sum_i alpha_it (v_i . e_t)        |a_t|^2 = alpha_t^T G alpha_t,   G_ij = v_i . v_j,

so word-region dot products and each image's Gram matrix G are enough. Image-to-text is the same with the roles
swapped. Below, "contexts" are looked at (X of them each: the regions) and "queries" look (Y of them each: the words).

Pairs are scored in blocks that fit a memory limit. The backward pass computes each block anew and uses the
closed form of its gradient, so it too stays within the limit.
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
    cut_up,
    queries_of,
)

AGGREGATIONS = ("mean", "sum", "max", "logsumexp")
DIRECTIONS = ("t2i", "i2t")
EPS = 1e-8
BLOCK = {"cpu": 1 << 18, "cuda": 1 << 25}
"""Word-region similarities held at once: what fits a CPU's cache, and what keeps a GPU busy."""


@dataclass(frozen=True)
class Attention:
    """How words and regions look at each other. SCAN's own settings: t2i with 9, i2t with 4."""

    direction: str = "t2i"
    """t2i: words look at regions; i2t: regions look at words."""
    temperature: float = 9.0
    """lambda (tau in the grounded captioning paper): larger looks at fewer places."""
    aggregation: str = "mean"
    """Of the comparisons of a pair: mean, sum, max or logsumexp."""
    sharpness: float = 6.0
    """lambda of logsumexp: log(sum exp(sharpness r)) / sharpness."""
    leak: float = 0.0
    """Slope for negative similarities. 0 is the paper's [x]_+; the released code has 0.1."""

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise InputError(f"Attention runs {' or '.join(DIRECTIONS)}, not '{self.direction}'.")
        if self.aggregation not in AGGREGATIONS:
            raise InputError(f"Aggregate by {', '.join(AGGREGATIONS)}, not '{self.aggregation}'.")


def cross_attention(images: Encoded, texts: Encoded, attention: Attention, block: int | None = None) -> Tensor:
    """Scores of all images with all sentences [I, C]; `block` limits the similarities held at once."""
    contexts, queries = (images, texts) if attention.direction == "t2i" else (texts.of_counted(), images)
    limit = block or BLOCK.get(contexts.vectors.device.type, BLOCK["cpu"])
    with torch.autocast(contexts.vectors.device.type, enabled=False):
        seen, looking = arrange(contexts), arrange(queries)
        scores = _Scores.apply(seen.vectors, looking.vectors, seen, looking, attention, limit)
    scores = scores[seen.back][:, looking.back]
    return scores if attention.direction == "t2i" else scores.t()


@torch.no_grad()
def attention_weights(images: Encoded, texts: Encoded, attention: Attention) -> Tensor:
    """Where each word of sentence n looks in image n: alpha [N, T, R], zero rows for words that do not count.
    No gradient runs through it: it is what a teacher says.

    For image-to-text attention, where each region looks among the words: [N, R, T].
    """
    contexts, queries = (images, texts) if attention.direction == "t2i" else (texts.of_counted(), images)
    seen, seen_mask, _ = clean(contexts)
    looking, _, counted = clean(queries)
    similarity = seen @ looking.transpose(1, 2)  # [N, X, Y]
    weights = _weights(similarity.unsqueeze(-1), seen_mask, attention).squeeze(-1)  # [N, X, Y]
    return weights.transpose(1, 2) * counted.unsqueeze(-1)


def _weights(similarity: Tensor, context_mask: Tensor | None, attention: Attention) -> Tensor:
    """alpha (Eq. 5) from s [n, X, Y, m]: normalised over a query set (Y), then softmax over contexts (X).

    Masked queries have s = 0 and so weigh nothing in the norm.
    """
    raw = F.leaky_relu(similarity, attention.leak)
    raw.mul_(attention.temperature / _norm(raw).unsqueeze(2))
    if context_mask is not None:
        raw.masked_fill_(~context_mask[:, :, None, None], float("-inf"))
    return raw.softmax(1)


def _norm(raw: Tensor) -> Tensor:
    """sqrt(sum_t s_it^2) + eps, over the words of each sentence: [n, X, m]."""
    return raw.square().sum(2).sqrt() + EPS  # over a strided axis far faster than vector_norm on a CPU


def _aggregate(cosines: Tensor, mask: Tensor, counts: Tensor, attention: Attention) -> Tensor:
    """The comparisons of each pair [n, Y, m] as one score [n, m] (Eq. 6 for mean)."""
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
    """What is known of n context sets x m query sets; the backward pass needs all of it."""

    similarity: Tensor  # s [n, X, Y, m]
    weights: Tensor  # alpha [n, X, Y, m]
    gram_weights: Tensor  # G alpha [n, X, Y, m]
    seen_square: Tensor  # |a|^2 [n, Y, m]
    cosines: Tensor  # r [n, Y, m]
    floor: Tensor  # True where |e||a| was raised to EPS


def _score_block(
    contexts: Tensor, gram: Tensor, mask: Tensor | None, queries: Tensor, lengths: Tensor, attention: Attention
) -> _Block:
    """contexts [n, X, E], gram [n, X, X], queries [Y, m, E], lengths [Y, m]."""
    (n, x, _), (y, m, _) = contexts.shape, queries.shape
    similarity = (contexts.flatten(0, 1) @ queries.flatten(0, 1).t()).view(n, x, y, m)
    weights = _weights(similarity, mask, attention)
    gram_weights = (gram @ weights.view(n, x, y * m)).view(n, x, y, m)
    dot = (weights * similarity).sum(1)  # e . a  [n, Y, m]
    seen_square = (weights * gram_weights).sum(1)  # |a|^2
    product = lengths * seen_square.clamp(min=0).sqrt()
    return _Block(similarity, weights, gram_weights, seen_square, dot / product.clamp(min=EPS), product <= EPS)


def _block_gradient(
    block: _Block, slope: Tensor, attention: Attention, lengths: Tensor, always: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """From dL/dr [n, Y, m] to dL/ds [n, X, Y, m], dL/dG [n, X, X] and dL/d|e| [Y, m].

    A cosine does not change when alpha is scaled, so alpha . dL/dalpha = 0 and the softmax passes alpha * dL/dalpha on.
    Where EPS holds a cosine up, it does: with `always`, that is seen to without asking whether it happens.
    """
    n, x, y, m = block.similarity.shape
    product = (lengths * block.seen_square.clamp(min=0).sqrt()).clamp(min=EPS)
    per_dot = (slope / product).unsqueeze(1)  # dL/d(e . a)
    live = slope.masked_fill(block.floor, 0) * block.cosines
    per_square = -(live / block.seen_square.clamp(min=EPS * EPS)).unsqueeze(1)  # 2 dL/d|a|^2
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


class _Scores(torch.autograd.Function):
    """Scores [N, M] of arranged contexts with arranged queries, block by block, forward and backward."""

    @staticmethod
    def forward(
        ctx: Any, seen_vectors: Tensor, looking_vectors: Tensor, seen: Arranged, looking: Arranged,
        attention: Attention, limit: int,
    ) -> Tensor:  # fmt: skip
        ctx.save_for_backward(seen_vectors, looking_vectors)
        ctx.seen, ctx.looking, ctx.attention, ctx.limit = seen, looking, attention, limit
        scores = seen_vectors.new_empty(len(seen.sizes), len(looking.sizes))
        queries = [queries_of(looking_vectors, looking, part) for part in cut_up(looking.sizes, limit)]
        for rows in cut_up(seen.sizes, limit):
            contexts, gram, mask = contexts_of(seen_vectors, seen, rows)
            for columns, (vectors, lengths) in zip(cut_up(looking.sizes, limit), queries):
                block = _score_block(contexts, gram, mask, vectors, lengths, attention)
                scores[rows[0] : rows[1], columns[0] : columns[1]] = _aggregate(
                    block.cosines, *counted_queries(looking, columns), attention
                )
        return scores

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        seen_vectors, looking_vectors = ctx.saved_tensors
        seen, looking, attention, limit = ctx.seen, ctx.looking, ctx.attention, ctx.limit
        parts = cut_up(looking.sizes, limit)
        queries = [queries_of(looking_vectors, looking, part) for part in parts]
        query_slopes = [torch.zeros_like(vectors) for vectors, _ in queries]
        length_slopes = [torch.zeros_like(lengths) for _, lengths in queries]
        seen_slope = torch.zeros_like(seen_vectors)
        for first, last, longest in cut_up(seen.sizes, limit):
            contexts, gram, mask = contexts_of(seen_vectors, seen, (first, last, longest))
            context_slope, gram_slope = torch.zeros_like(contexts), torch.zeros_like(gram)
            for place, columns in enumerate(parts):
                vectors, lengths = queries[place]
                block = _score_block(contexts, gram, mask, vectors, lengths, attention)
                wanted = slope[first:last, columns[0] : columns[1]]
                cosine_slope = _aggregation_slope(block.cosines, counted_queries(looking, columns), attention, wanted)
                similarity, gram_part, length_part = _block_gradient(
                    block, cosine_slope, attention, lengths, always=seen.recorded
                )
                flat = similarity.view(contexts.shape[0] * contexts.shape[1], -1)  # [n X, Y m]
                context_slope += (flat @ vectors.flatten(0, 1)).view_as(contexts)
                query_slopes[place] += (flat.t() @ contexts.flatten(0, 1)).view_as(vectors)
                gram_slope += gram_part
                length_slopes[place] += length_part
            seen_slope[first:last, :longest] = context_slope + 2 * gram_slope @ contexts
        looking_slope = torch.zeros_like(looking_vectors)
        for place, (first, last, longest) in enumerate(parts):
            vectors, lengths = queries[place]
            direction = vectors / lengths.clamp(min=EPS).unsqueeze(-1)
            total = query_slopes[place] + length_slopes[place].unsqueeze(-1) * direction  # [Y, m, E]
            looking_slope[first:last, :longest] = total.transpose(0, 1)
        return seen_slope, looking_slope, None, None, None, None


def _aggregation_slope(cosines: Tensor, mask: tuple[Tensor, Tensor], attention: Attention, slope: Tensor) -> Tensor:
    """dL/dr [n, Y, m] from the scores' slope [n, m]; small next to a block, so autograd may do it."""
    with torch.enable_grad():
        cosines = cosines.detach().requires_grad_()
        return torch.autograd.grad(_aggregate(cosines, *mask, attention), cosines, slope)[0]
