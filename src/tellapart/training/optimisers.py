"""Optimisers by name, with parameters grouped by learning rate."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.runs.recipe import Optimiser


def freeze(module: nn.Module, prefixes: Iterable[str]) -> None:
    """Freeze the parameters whose name begins with one of the prefixes; a prefix without parameters is an error."""
    for prefix in prefixes:
        fitting = [p for name, p in module.named_parameters() if name.startswith(prefix)]
        if not fitting:
            raise InputError(f"No parameter's name begins with '{prefix}', so it freezes nothing.")
        for parameter in fitting:
            parameter.requires_grad_(False)


def build_optimiser(settings: Optimiser, objective: nn.Module) -> torch.optim.Optimizer:
    """The optimiser, with one group for each learning rate; `scaled` prefixes are names inside the objective's
    model."""
    factors: dict[float, list[nn.Parameter]] = {}
    for name, parameter in objective.named_parameters():
        if parameter.requires_grad:
            inner = name.removeprefix("model.")
            factor = next((scale for prefix, scale in settings.scaled if inner.startswith(prefix)), 1.0)
            factors.setdefault(factor, []).append(parameter)
    if not factors:
        raise InputError("Nothing can be trained: every parameter of this stage is frozen.")
    groups = [{"params": parameters, "scale": factor} for factor, parameters in factors.items()]
    if settings.kind == "adam":
        return torch.optim.Adam(groups, settings.lr, betas=settings.betas, weight_decay=settings.weight_decay)
    if settings.kind == "adamw":
        return torch.optim.AdamW(groups, settings.lr, betas=settings.betas, weight_decay=settings.weight_decay)
    if settings.kind == "adamp":
        return AdamP(groups, settings.lr, betas=settings.betas, weight_decay=settings.weight_decay)
    if settings.kind == "sgd":
        return torch.optim.SGD(groups, settings.lr, momentum=settings.momentum, weight_decay=settings.weight_decay)
    raise InputError(f"Unknown optimiser '{settings.kind}'; use adam, adamw, adamp or sgd.")


class AdamP(torch.optim.Optimizer):
    """Adam whose step is projected off the weight's own direction where that direction changes nothing.

    Heo et al. 2021, Algorithm 2: if cos(w, gradient) < delta / sqrt(dim), the weight is taken to be scale-invariant and
    the update loses its component along w; weight decay is then damped to a tenth.
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        delta: float = 0.1,
        damping: float = 0.1,
        capturable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "delta": delta,
            "damping": damping,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore; checkpoints do not say whether steps were replayed, since that depends on the machine."""
        super().__setstate__(state)
        for settings in self.param_groups:
            settings.setdefault("capturable", False)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for settings in self.param_groups:
            weights = [weight for weight in settings["params"] if weight.grad is not None]
            if weights:
                self._step_group(weights, settings)

    def _step_group(self, weights: list[Tensor], settings: dict[str, Any]) -> None:
        """Update all weights in few kernel launches, so that a GPU does not wait for Python."""
        first, second = settings["betas"]
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        for weight in weights:
            if not self.state[weight]:
                self.state[weight]["step"] = torch.zeros((), device=weight.device if settings["capturable"] else "cpu")
                self.state[weight]["exp_avg"] = torch.zeros_like(weight)
                self.state[weight]["exp_avg_sq"] = torch.zeros_like(weight)
        means = [self.state[weight]["exp_avg"] for weight in weights]
        squares = [self.state[weight]["exp_avg_sq"] for weight in weights]
        steps = [self.state[weight]["step"] for weight in weights]
        torch._foreach_add_(steps, 1)
        # A replayed step counts on the device, any other on the host.
        count = steps[0] if settings["capturable"] else steps[0].item()
        torch._foreach_lerp_(means, gradients, 1 - first)
        torch._foreach_mul_(squares, second)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - second)
        spreads = torch._foreach_sqrt(squares)
        torch._foreach_div_(spreads, (1 - second**count) ** 0.5)
        torch._foreach_add_(spreads, settings["eps"])
        moves = torch._foreach_div(means, spreads)
        torch._foreach_div_(moves, 1 - first**count)
        decays, decay = settings["weight_decay"] != 0, settings["lr"] * settings["weight_decay"]
        for places in self._alike(weights):
            chosen = [weights[place] for place in places]
            damping = _project_(
                chosen, [gradients[i] for i in places], [moves[i] for i in places], settings["delta"]
            )  # [L] bool
            if decays:
                factors = 1 - decay * torch.where(damping, settings["damping"], 1.0)
                torch._foreach_mul_(chosen, list(factors.unbind()))
        flat = [weight for weight in weights if weight.dim() < 2]
        if decays and flat:
            torch._foreach_mul_(flat, 1 - decay)
        torch._foreach_mul_(moves, -settings["lr"])
        torch._foreach_add_(weights, moves)

    @staticmethod
    def _alike(weights: list[Tensor]) -> list[list[int]]:
        """Indices of the weights that have rows, grouped by the length of their rows."""
        found: dict[int, list[int]] = {}
        for place, weight in enumerate(weights):
            if weight.dim() > 1:
                found.setdefault(weight[0].numel(), []).append(place)
        return list(found.values())


def _project_(weights: list[Tensor], gradients: list[Tensor], moves: list[Tensor], delta: float) -> Tensor:
    """Remove from each of `moves` its component along the weight: per channel where each channel is scale-invariant,
    else for the whole layer where that is. Returns for each layer whether it was either [L].

    All rows have one length, so the rows of all layers form one matrix. Both cases use the same four dot products, and
    no branch needs a value from the GPU.
    """
    counts, width = tuple(len(weight) for weight in weights), weights[0][0].numel()
    owner, sizes = _layout(counts, width, weights[0].device)
    w, g, m = (torch.cat([part.flatten(1) for part in parts]) for parts in (weights, gradients, moves))  # [O, K]
    dots = torch.stack([(w * g).sum(1), (w * w).sum(1), (g * g).sum(1), (w * m).sum(1)])  # [4, O]
    totals = dots.new_zeros(4, len(counts)).index_add_(1, owner, dots)  # [4, L]
    highest = dots.new_zeros(len(counts)).scatter_reduce_(0, owner, _cosine(dots), "amax")  # [L]
    channel = highest < delta / width**0.5  # [L]
    layer = _cosine(totals) < delta / sizes**0.5
    whole = torch.where(layer, totals[3] / totals[1].clamp(min=1e-16), 0.0)[owner]
    along = torch.where(channel[owner], dots[3] / dots[1].clamp(min=1e-16), whole)  # [O]
    taken = (w * along.unsqueeze(1)).split(counts)  # type: ignore[no-untyped-call]
    torch._foreach_sub_(moves, [part.view_as(move) for part, move in zip(taken, moves)])
    return channel | layer  # type: ignore[no-any-return]


@lru_cache
def _layout(counts: tuple[int, ...], width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The layer of each row [O] and the number of weights of each layer [L]; cached, since a GPU waits for it."""
    rows = torch.tensor(counts)
    return torch.arange(len(counts)).repeat_interleave(rows).to(device), (rows * width).to(device)


def _cosine(dots: Tensor) -> Tensor:
    return dots[0].abs() / (dots[1] * dots[2]).sqrt().clamp(min=1e-8)
