"""Matrix products inside a loop over time, with one gradient product per matrix after the loop.

Step by step, autograd would compute the matrix's gradient at every step and add it up: for T steps, T products of few
rows and T sums as large as the matrix. Here a step's backward pass computes the gradient of its input alone. The
inputs and gradients of all steps are multiplied at once at the end. Second derivatives are not supported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional


class LoopLinear:
    """`layer(t, a, b, …)` is a @ A.T + b @ B.T + … + base[t]; a loop calls it once per t, from 0.

    weights A [O, I], B [O, J], …; base [T, N, O], such as `bias.expand(T, N, O)`. A step may have fewer than N rows:
    the first ones.
    """

    def __init__(self, weights: Sequence[Tensor], base: Tensor) -> None:
        # Joined, the parts take one product per step; for a single step, joining would cost more than it saves.
        weights = tuple(weights) if len(base) == 1 else (torch.cat(tuple(weights), 1),)
        self.seen: list[Tensor] = []
        self.learns = len(base) > 1 and torch.is_grad_enabled() and weights[0].requires_grad
        if self.learns:
            base, weights = _LinearLater.apply(base, *weights, self.seen), (weights[0].detach(),)  # type: ignore[no-untyped-call]
        self.base, self.weights = base.unbind(0), tuple(weight.T for weight in weights)

    def __call__(self, step: int, *parts: Tensor) -> Tensor:
        parts, total = self._taken(step, parts)
        for rows, weight in zip(parts, self.weights):
            total = torch.addmm(total, rows, weight)
        return total

    def apart(self, step: int, *parts: Tensor) -> tuple[Tensor, Tensor | None]:
        """The products, and base[t] still to be added, for a kernel that adds it: a GPU then need not copy base[t] to
        begin with. On a CPU, and where weights are not joined, the sum and None."""
        if not self.base[0].is_cuda or len(self.weights) != 1:
            return self(step, *parts), None
        parts, base = self._taken(step, parts)
        return parts[0] @ self.weights[0], base

    def _taken(self, step: int, parts: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], Tensor]:
        """The factors of this step, noted for the backward pass, and their rows of base[t]."""
        if len(self.weights) < len(parts):
            parts = (torch.cat(parts, 1),)
        if self.learns:
            _in_order(step, self.seen)
            self.seen.append(parts[0].detach())
        base = self.base[step]
        return parts, base if len(base) == len(parts[0]) else base[: len(parts[0])]


class LoopMix:
    """`mix(t, weights)` is each image's cells [N, R, H] summed with its weights [N, R]: [N, H].

    A loop of T steps calls it once per t. A step may have fewer than N images: the first ones.
    """

    def __init__(self, cells: Tensor, steps: int) -> None:
        self.seen: list[Tensor] = []
        self.learns = torch.is_grad_enabled() and cells.requires_grad
        base = cells.new_zeros(()).expand(steps, len(cells), 1, cells.shape[2])
        if self.learns:
            base, cells = _MixLater.apply(base, cells, self.seen), cells.detach()  # type: ignore[no-untyped-call]
        self.base, self.cells = base.unbind(0), cells

    def __call__(self, step: int, weights: Tensor) -> Tensor:
        if self.learns:
            _in_order(step, self.seen)
            self.seen.append(weights.detach())
        base, cells = self.base[step], self.cells
        if len(weights) != len(cells):
            base, cells = base[: len(weights)], cells[: len(weights)]
        return torch.baddbmm(base, weights.unsqueeze(1), cells).squeeze(1)


class LoopNorm:
    """`norm(t, rows)` is the layer norm of rows; the T gradients of gain and bias are added at once."""

    def __init__(self, norm: nn.LayerNorm, steps: int) -> None:
        self.width, self.eps = norm.normalized_shape, norm.eps
        self.gain, self.bias = (part.expand(steps, -1).unbind(0) for part in (norm.weight, norm.bias))

    def __call__(self, step: int, rows: Tensor) -> Tensor:
        return functional.layer_norm(rows, self.width, self.gain[step], self.bias[step], self.eps)


def _in_order(step: int, seen: list[Tensor]) -> None:
    if step != len(seen):
        raise ValueError(f"step must be {len(seen)}, not {step}: each step is taken once, in order")


class _LinearLater(Function):
    """The base unchanged; the backward pass also gives the weight's gradient, from the inputs of all steps."""

    @staticmethod
    def forward(ctx: Any, base: Tensor, weight: Tensor, seen: list[Tensor]) -> Tensor:
        ctx.seen = seen  # detached: otherwise the graph would keep itself in memory
        return base.view_as(base)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        rows = torch.cat(ctx.seen)  # [M, I]
        whole = len(rows) == gradient.shape[0] * gradient.shape[1]
        upstream = gradient.flatten(0, 1) if whole else torch.cat([g[: len(r)] for g, r in zip(gradient, ctx.seen)])
        return gradient, upstream.T @ rows.to(upstream.dtype), None


class _MixLater(Function):
    """The same for the cells of `LoopMix`."""

    @staticmethod
    def forward(ctx: Any, base: Tensor, cells: Tensor, seen: list[Tensor]) -> Tensor:
        ctx.seen = seen
        return base.view_as(base)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, None]:
        upstream = gradient.squeeze(2).transpose(0, 1)[:, : len(ctx.seen)]  # [N, T, H]
        images = len(upstream)
        missing = [(0, 0, 0, images - len(weights)) for weights in ctx.seen]
        weights = torch.stack([functional.pad(w, gap) if gap[3] else w for w, gap in zip(ctx.seen, missing)], 2)
        return None, torch.bmm(weights.to(upstream.dtype), upstream), None  # [N, R, T] @ [N, T, H]
