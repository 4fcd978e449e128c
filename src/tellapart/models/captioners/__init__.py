"""Captioners: models that generate a caption of an image, word by word.

To add one, write a file with a settings class that has `build(inputs)`, and add a line to CAPTIONERS.
"""

from typing import Any

from tellapart.models.captioners.adaptive_attention import AdaptiveAttention
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.models.captioners.pretrained import PretrainedCaptioner
from tellapart.models.captioners.r2m import R2M
from tellapart.models.captioners.transformer import Transformer
from tellapart.models.captioners.up_down import UpDown

CAPTIONERS: dict[str, Any] = {
    "adaptive-attention": AdaptiveAttention,
    "neuraltalk2": NeuralTalk2,
    "pretrained-captioner": PretrainedCaptioner,
    "r2m": R2M,
    "transformer": Transformer,
    "up-down": UpDown,
}
