"""Captioners: models that write a sentence about a picture, word by word."""

from typing import Any

from tellapart.captioning.adaptive_attention import AdaptiveAttention
from tellapart.captioning.neuraltalk import NeuralTalk2
from tellapart.captioning.r2m import R2M
from tellapart.captioning.up_down import UpDown

CAPTIONERS: dict[str, Any] = {
    "adaptive-attention": AdaptiveAttention,
    "neuraltalk2": NeuralTalk2,
    "r2m": R2M,
    "up-down": UpDown,
}
