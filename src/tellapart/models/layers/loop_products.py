"""Products inside a loop over time, with a matrix that is the same at every step: it learns once, after the loop.

Step by step, autograd would compute the matrix's gradient anew at every step and add it up: for T steps, T products of
few rows and T sums as large as the matrix. Here a step's gradient goes back to the step's own input alone; what all
steps read and what came back to them are multiplied at once when the last of it is known. There are no second
derivatives through it.
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
    """`layer(t, a, b, …)` is a @ A.T + b @ B.T + … + base[t]; a loop calls it once for each t, from 0 on.

    weights A [O, I], B [O, J], …; base [T, N, O], such as `bias.expand(T, N, O)`. A step may have fewer than N rows:
    the first ones.
    """

    def __init__(self, weights: Sequence[Tensor], base: Tensor) -> None:
        # Joined, the parts take one product a step; for a single step, joining would cost more than it saves.
        weights = tuple(weights) if len(base) == 1 else (torch.cat(tuple(weights), 1),)
        self.seen: list[Tensor] = []
        self.learns = len(base) > 1 and torch.is_grad_enabled() and weights[0].requires_grad
        if self.learns:
            base, weights = _LinearLater.apply(base, *weights, self.seen), (weights[0].detach(),)  # type: ignore[assignment,no-untyped-call]
        self.base, self.weights = base.unbind(0), tuple(weight.T for weight in weights)

    def __call__(self, step: int, *parts: Tensor) -> Tensor:
        if len(self.weights) < len(parts):
            parts = (torch.cat(parts, 1),)
        if self.learns:
            _in_order(step, self.seen)
            self.seen.append(parts[0].detach())
        total = self.base[step]
        if len(total) != len(parts[0]):
            total = total[: len(parts[0])]
        for rows, weight in zip(parts, self.weights):
            total = torch.addmm(total, rows, weight)
        return total


class LoopMix:
    """`mix(t, weights)` is each image's cells [N, R, H] summed with its weights [N, R]: [N, H]; a loop of T steps
    calls it once for each t, from 0 on. A step may be about fewer than N images: the first ones."""

    def __init__(self, cells: Tensor, steps: int) -> None:
        self.seen: list[Tensor] = []
        self.learns = torch.is_grad_enabled() and cells.requires_grad
        base = cells.new_zeros(()).expand(steps, len(cells), 1, cells.shape[2])
        if self.learns:
            base, cells = _MixLater.apply(base, cells, self.seen), cells.detach()  # type: ignore[assignment,no-untyped-call]
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
    """`norm(t, rows)` is the layer norm of rows; gain and bias get T gradients, added up at once."""

    def __init__(self, norm: nn.LayerNorm, steps: int) -> None:
        self.width, self.eps = norm.normalized_shape, norm.eps
        self.gain, self.bias = (part.expand(steps, -1).unbind(0) for part in (norm.weight, norm.bias))

    def __call__(self, step: int, rows: Tensor) -> Tensor:
        return functional.layer_norm(rows, self.width, self.gain[step], self.bias[step], self.eps)


def _in_order(step: int, seen: list[Tensor]) -> None:
    if step != len(seen):
        raise ValueError(f"step {step} was taken where step {len(seen)} is next; each step is taken once, in order")


class _LinearLater(Function):
    """The base as it is; going back, also the weight's gradient, from what the steps have seen by then."""

    @staticmethod
    def forward(ctx: Any, base: Tensor, weight: Tensor, seen: list[Tensor]) -> Tensor:
        ctx.seen = seen  # rows without their history: with it, the graph would hold itself in memory
        return base.view_as(base)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        rows = torch.cat(ctx.seen)  # [M, I]
        whole = len(rows) == gradient.shape[0] * gradient.shape[1]
        came = gradient.flatten(0, 1) if whole else torch.cat([g[: len(r)] for g, r in zip(gradient, ctx.seen)])
        return gradient, came.T @ rows.to(came.dtype), None


class _MixLater(Function):
    """The same for cells."""

    @staticmethod
    def forward(ctx: Any, base: Tensor, cells: Tensor, seen: list[Tensor]) -> Tensor:
        ctx.seen = seen
        return base.view_as(base)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, None]:
        came = gradient.squeeze(2).transpose(0, 1)[:, : len(ctx.seen)]  # [N, T, H]
        images = len(came)
        missing = [(0, 0, 0, images - len(weights)) for weights in ctx.seen]
        weights = torch.stack([functional.pad(w, gap) if gap[3] else w for w, gap in zip(ctx.seen, missing)], 2)
        return None, torch.bmm(weights.to(came.dtype), came), None  # [N, R, T] @ [N, T, H]
