"""Low-rank adapters (LoRA, Hu et al. 2022): W x + (alpha / r) B A x, where only A and B learn.

Weights are named as `peft` names them, so that an exported adapter opens there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError

ATTENTION = ("q_proj", "k_proj", "v_proj", "out_proj", "query", "key", "value", "qkv", "c_attn", "projection")
"""Names of the layers that are adapted by default: the attention of CLIP, SigLIP, BERT, BLIP, ViT, GIT and GPT-2."""


@dataclass(frozen=True)
class Lora:
    """Which layers learn by low-rank adapters, while the rest of the model is frozen."""

    rank: int = 8
    """Rank of an adapter."""
    alpha: float = 0.0
    """Adapters are scaled by alpha / rank; 0: by one."""
    layers: tuple[str, ...] = ATTENTION
    """Last names of the linear layers to adapt."""
    also: tuple[str, ...] = ("image_head", "text_head")
    """Prefixes of parameter names that learn as a whole."""

    @property
    def scaled_by(self) -> float:
        """alpha, spelled out."""
        return self.alpha or float(self.rank)


class LoraLinear(nn.Module):
    """A frozen linear layer with a low-rank change that starts at zero.

    Args:
        base: nn.Linear, or the transposed Conv1D of GPT-2.
        rank: r.
        alpha: the change is scaled by alpha / r.
    """

    def __init__(self, base: nn.Module, rank: int, alpha: float) -> None:
        super().__init__()
        weight = base.weight
        assert isinstance(weight, Tensor)
        self.transposed = not isinstance(base, nn.Linear)
        outputs, inputs = reversed(weight.shape) if self.transposed else weight.shape
        self.base, self.scaling = base.requires_grad_(False), alpha / rank
        self.lora_A = nn.Linear(inputs, rank, bias=False, dtype=weight.dtype)
        self.lora_B = nn.Linear(rank, outputs, bias=False, dtype=weight.dtype)
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)

    @property
    def weight(self) -> Tensor:
        """The weight with the change, for modules that read it instead of calling the layer."""
        base = self.base.weight
        assert isinstance(base, Tensor)
        return base + self.change()

    @property
    def bias(self) -> Tensor | None:
        """The bias, which is not adapted."""
        bias = self.base.bias
        assert bias is None or isinstance(bias, Tensor)
        return bias

    def change(self) -> Tensor:
        """(alpha / r) B A, in the shape of the weight."""
        change = self.scaling * (self.lora_B.weight @ self.lora_A.weight)
        return change.t() if self.transposed else change

    def forward(self, values: Tensor) -> Tensor:
        low = functional.linear(values, self.lora_A.weight)
        found: Tensor = self.base(values) + self.scaling * functional.linear(low, self.lora_B.weight)
        return found

    @torch.no_grad()
    def merged(self) -> nn.Module:
        """The plain layer with the change added to its weight."""
        weight = self.base.weight
        assert isinstance(weight, Tensor)
        weight += self.change()
        return self.base


def add_lora(model: nn.Module, lora: Lora) -> list[str]:
    """Freeze a model and adapt its linear layers of these names, which are returned."""
    if lora.rank < 1:
        raise InputError(f"lora.rank={lora.rank}: the rank of an adapter is at least 1.")
    model.requires_grad_(False)
    for name, parameter in model.named_parameters():
        if any(name == part or name.startswith(f"{part}.") for part in lora.also):
            parameter.requires_grad_(True)
    names = linear_layers(model, lora.layers)
    if not names:
        raise InputError(
            f"{type(model).__name__} has no linear layer called {', '.join(lora.layers)}; name others with lora.layers."
        )
    for name in names:
        parent, last = _parent(model, name)
        setattr(parent, last, LoraLinear(getattr(parent, last), lora.rank, lora.scaled_by))
    return names


def linear_layers(model: nn.Module, last_names: Sequence[str]) -> list[str]:
    """Names of the linear layers whose last name is one of these."""
    return [name for name, module in model.named_modules() if name.split(".")[-1] in last_names and _is_linear(module)]


def adapters(model: nn.Module) -> dict[str, LoraLinear]:
    """The adapted layers of a model by name; empty for a model without adapters."""
    return {name: module for name, module in model.named_modules() if isinstance(module, LoraLinear)}


def merge_lora(model: nn.Module) -> None:
    """Add all adapters to the weights: the model is then a plain one."""
    for name, module in adapters(model).items():
        parent, last = _parent(model, name)
        setattr(parent, last, module.merged())


def _is_linear(module: nn.Module) -> bool:
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def _parent(model: nn.Module, name: str) -> tuple[nn.Module, str]:
    path, _, last = name.rpartition(".")
    return model.get_submodule(path), last
