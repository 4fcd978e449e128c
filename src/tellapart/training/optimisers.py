"""Optimisers by name, with parameters grouped by how fast they learn."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from tellapart.errors import InputError
from tellapart.training.recipe import Optimiser


def freeze(module: nn.Module, prefixes: Iterable[str]) -> None:
    """Parameters whose name begins with one of the prefixes stop learning; a prefix that fits none is an error."""
    for prefix in prefixes:
        fitting = [p for name, p in module.named_parameters() if name.startswith(prefix)]
        if not fitting:
            raise InputError(f"No parameter's name begins with '{prefix}', so nothing can be frozen by it.")
        for parameter in fitting:
            parameter.requires_grad_(False)


def build_optimiser(settings: Optimiser, objective: nn.Module) -> torch.optim.Optimizer:
    """One group for each learning rate; `scaled` prefixes are names inside the objective's model."""
    factors: dict[float, list[nn.Parameter]] = {}
    for name, parameter in objective.named_parameters():
        if parameter.requires_grad:
            inner = name.removeprefix("model.")
            factor = next((scale for prefix, scale in settings.scaled if inner.startswith(prefix)), 1.0)
            factors.setdefault(factor, []).append(parameter)
    if not factors:
        raise InputError("Nothing is left to learn: every parameter of this stage is frozen.")
    groups = [{"params": parameters, "scale": factor} for factor, parameters in factors.items()]
    if settings.kind == "adam":
        return torch.optim.Adam(groups, settings.rate, betas=settings.betas, weight_decay=settings.weight_decay)
    if settings.kind == "adamw":
        return torch.optim.AdamW(groups, settings.rate, betas=settings.betas, weight_decay=settings.weight_decay)
    if settings.kind == "adamp":
        return AdamP(groups, settings.rate, betas=settings.betas, weight_decay=settings.weight_decay)
    if settings.kind == "sgd":
        return torch.optim.SGD(groups, settings.rate, momentum=settings.momentum, weight_decay=settings.weight_decay)
    raise InputError(f"Unknown optimiser '{settings.kind}'; use adam, adamw, adamp or sgd.")


class AdamP(torch.optim.Optimizer):
    """Adam whose step is projected off the weight's own direction where that direction changes nothing.

    Heo et al. 2021, Algorithm 2: if cos(w, gradient) < delta / sqrt(dim), the weight is taken to be scale-invariant and
    the update loses its component along w; weight decay is then damped to a tenth.
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        delta: float = 0.1,
        damping: float = 0.1,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "delta": delta,
            "damping": damping,
        }
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for settings in self.param_groups:
            first, second = settings["betas"]
            for weight in settings["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["step"] = torch.zeros(())
                    state["exp_avg"] = torch.zeros_like(weight)
                    state["exp_avg_sq"] = torch.zeros_like(weight)
                state["step"] += 1
                count = state["step"].item()
                mean = state["exp_avg"].mul_(first).add_(weight.grad, alpha=1 - first)
                square = state["exp_avg_sq"].mul_(second).addcmul_(weight.grad, weight.grad, value=1 - second)
                spread = (square / (1 - second**count)).sqrt_().add_(settings["eps"])
                move = mean / (1 - first**count) / spread
                decay = settings["lr"] * settings["weight_decay"]
                if weight.dim() > 1:
                    move, damping = _project(weight, weight.grad, move, settings["delta"], settings["damping"])
                    if decay:
                        weight.mul_(1 - decay * damping)
                elif decay:
                    weight.mul_(1 - decay)
                weight.add_(move, alpha=-settings["lr"])


def _project(weight: Tensor, gradient: Tensor, move: Tensor, delta: float, damping: float) -> tuple[Tensor, Tensor]:
    """Channel by channel first, then the whole layer: the first view in which the weight is scale-invariant counts.

    All on the device: no branch asks for a number, which would make a GPU wait at every parameter.
    """
    kept, factor = move, torch.ones((), device=weight.device)
    for view in (1, weight.shape[0]):  # the later one wins, so the channels come last
        w, g, m = weight.reshape(view, -1), gradient.reshape(view, -1), move.reshape(view, -1)
        cosine = torch.nn.functional.cosine_similarity(w, g, dim=1).abs()
        invariant = cosine.max() < delta / w.shape[1] ** 0.5
        unit = torch.nn.functional.normalize(w, dim=1)
        projected = (m - unit * (unit * m).sum(1, keepdim=True)).reshape(weight.shape)
        kept = torch.where(invariant, projected, kept)
        factor = torch.where(invariant, damping, factor)
    return kept, factor
