"""Vision models of transformers and timm as networks of a backbone: a feature map [I, D, H, W] and a pooled vector."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor, nn

from tellapart.features.image_encoders import without_pooler


class TokensToMap(nn.Module):
    """Wraps a transformers vision model: a map from its last hidden state, and its pooled vector if it has one."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        outputs = self.model(pixel_values=pixels)
        last = outputs.last_hidden_state  # [I, D, H, W] or [I, P, D]
        found = last if last.dim() == 4 else tokens_to_map(last)
        pooled = getattr(outputs, "pooler_output", None)
        return found, found.mean((2, 3)) if pooled is None else pooled.flatten(1)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        without_pooler(self.model, (key.removeprefix(f"{prefix}model.") for key in state_dict))
        super()._load_from_state_dict(state_dict, prefix, *rest)


class TimmFeatures(nn.Module):
    """Wraps a timm model: its last map and its pooled vector."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        last = self.model.forward_features(pixels)
        pooled = self.model.forward_head(last, pre_logits=True)  # [I, D]
        if last.dim() == 4 and last.shape[1] != self.model.num_features:
            last = last.permute(0, 3, 1, 2)  # some timm models put channels last
        return last if last.dim() == 4 else tokens_to_map(last), pooled


def tokens_to_map(tokens: Tensor) -> Tensor:
    """Patch tokens [I, P, D] as a map [I, D, s, s]; the class and register tokens, which come first, are dropped."""
    side = math.isqrt(tokens.shape[1])
    patches = tokens[:, tokens.shape[1] - side * side :].transpose(1, 2)  # [I, D, s s]
    return patches.reshape(*patches.shape[:2], side, side)
