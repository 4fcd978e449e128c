"""The image encoder of a model of transformers, whatever else the model has: of CLIP, BLIP, GIT or ViT-GPT2, say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.hub import check_complete, open_pretrained, quietly, transformers

CLASSES = {"blip": "BlipForConditionalGeneration", "vision-encoder-decoder": "VisionEncoderDecoderModel"}
"""By `model_type`: the class to open where AutoModel is another model or none."""
ENCODERS = ("vision_model", "git.image_encoder", "image_encoder", "vision_tower", "encoder")
"""Names under which models hold their image encoder; the first that a model has is taken."""
POOLER = ".pooler."


def open_image_encoder(name: str, config: Any, pretrained: bool) -> nn.Module:
    """The image encoder of a folder or hub name, which maps `pixel_values` to `last_hidden_state`."""
    library = transformers()
    classes = list(getattr(config, "architectures", None) or [])
    kind = "" if classes == ["BlipModel"] else CLASSES.get(str(config.model_type), "")
    loader = getattr(library, kind or "AutoModel")
    missing: frozenset[str] = frozenset()
    if pretrained:
        model, missing = open_pretrained(loader, name, missing_is_fine=".")
    else:
        with quietly():
            model = loader(config) if kind else loader.from_config(config)
    where, encoder = _encoder(model)
    inside = [key for key in missing if key.startswith(where)]
    check_complete((key for key in inside if POOLER not in f".{key}"), name)
    if inside:
        without_pooler(encoder, {f"{where}{key}" for key in encoder.state_dict()} - missing, where)
    return encoder


def without_pooler(encoder: nn.Module, known: Iterable[str], prefix: str = "") -> None:
    """Take the pooler from an encoder where none of its weights is known: those of a classifier lack it."""
    pooler = getattr(encoder, "pooler", None)
    if not isinstance(pooler, nn.Module) or not list(pooler.parameters()):
        return
    if not any(key.startswith(f"{prefix}pooler.") for key in known):
        setattr(encoder, "pooler", None)  # noqa: B010 - a module's attribute may be None


def _encoder(model: nn.Module) -> tuple[str, nn.Module]:
    """(prefix of its weights, image encoder) inside a model; the model itself where it is one."""
    names = dict(model.named_modules())
    for name in ENCODERS:
        if name in names and (name != "encoder" or hasattr(model, "decoder")):
            return f"{name}.", names[name]
    if getattr(model, "main_input_name", "pixel_values") != "pixel_values":
        raise InputError(
            f"A {type(model).__name__} has no image encoder that gives features; give CLIP, SigLIP, DINOv2, ViT, "
            "ConvNeXt, ResNet or Swin."
        )
    return "", model


class SquarePatches(nn.Module):
    """SigLIP 2's encoder, which reads patches, on squares [I, 3, S, S]."""

    def __init__(self, encoder: nn.Module, patch: int) -> None:
        super().__init__()
        self.encoder, self.patch = encoder, patch

    def forward(self, pixel_values: Tensor) -> Any:
        """The encoder's outputs for squares whose side is a multiple of the patch."""
        count, side = len(pixel_values), pixel_values.shape[2] // self.patch
        columns = functional.unfold(pixel_values, self.patch, stride=self.patch)  # [I, 3 p p, P], colours first
        patches = columns.view(count, 3, self.patch**2, -1).permute(0, 3, 2, 1).flatten(2)  # [I, P, p p 3]
        device = pixel_values.device
        everywhere = torch.ones(patches.shape[:2], dtype=torch.long, device=device)
        return self.encoder(patches, everywhere, torch.tensor([[side, side]] * count, device=device))
