"""Captioners: models that write a sentence about an image, word by word."""

from typing import Any

from tellapart.models.captioners.adaptive_attention import AdaptiveAttention
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.models.captioners.r2m import R2M
from tellapart.models.captioners.up_down import UpDown

CAPTIONERS: dict[str, Any] = {
    "adaptive-attention": AdaptiveAttention,
    "neuraltalk2": NeuralTalk2,
    "r2m": R2M,
    "up-down": UpDown,
}
