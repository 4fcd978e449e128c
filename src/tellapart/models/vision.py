"""A backbone that learns together with a model: `with_vision` lets any matcher or captioner read pixels.

The model stays what it is: its class is extended so that each method that takes images first turns pixels into the
feature rows that the method reads. Weights keep their names; those of the backbone begin with `vision.`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from torch import nn

from tellapart.core.errors import InputError
from tellapart.core.types import Batch, Images
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.pixel_backbone import PixelBackbone

FEATURES = ("vector", "grid")
NORMS = ("frozen", "train")
READS_IMAGES = ("encode_image", "encode_regions", "start", "forward")
"""Methods of models whose first argument is `Images`."""


@dataclass(frozen=True)
class Vision:
    """A backbone that learns with the model, and how training shows it the images."""

    backbone: str = "efficientnet-lite0"
    """efficientnet-lite0, -lite1 or -lite2; pp-lcnet-v2; a transformers vision model's name or folder; or timm:NAME."""
    start: str = ""
    """A run, or a backbone.safetensors, whose tuned backbone to start from; empty: the backbone's own weights."""
    features: str = ""
    """What the model reads of the backbone: vector (one row per image) or grid (one row per cell of its map).
    Empty: the recipe's kind; a grid in place of regions."""
    pixels: int = 0
    """Side in pixels of the backbone's input; 0: the size that the backbone was made for."""
    least_area: float = 0.6
    """Smallest share of an image's area in the random crops of training; 1: no crops."""
    flip: bool = True
    """Mirror half of the images in training; "left" and "right" change places in their captions."""
    lr_factor: float = 0.1
    """The backbone learns at the stage's learning rate times this; 0 freezes it."""
    norms: str = "frozen"
    """Batch norms of the backbone in training: frozen (their running statistics) or train (those of the batch)."""
    precision: str = "bfloat16"
    """Precision of the backbone on a GPU: bfloat16 or float32. Heads have the stage's."""
    checkpointing: bool = False
    """Compute activations of the backbone again in the backward pass: less memory, a third more time."""

    def check(self) -> None:
        """Raise an InputError that names an invalid field."""
        choices = {
            "features": (self.features, ("", *FEATURES)),
            "norms": (self.norms, NORMS),
            "precision": (self.precision, ("bfloat16", "float32")),
        }
        for name, (value, known) in choices.items():
            if value not in known:
                raise InputError(
                    f"vision.{name}={value}: invalid value; choose one of {', '.join(filter(None, known))}."
                )
        if not 0 < self.least_area <= 1:
            raise InputError(f"vision.least_area={self.least_area}: invalid value; it lies above 0 and up to 1.")
        if self.pixels < 0 or self.lr_factor < 0:
            raise InputError("vision.pixels and vision.lr_factor cannot be negative.")


def with_vision(vision: Vision, build: Callable[[ModelInputs], nn.Module], inputs: ModelInputs) -> nn.Module:
    """The model that `build` makes for the backbone's features, with the backbone inside."""
    vision.check()
    backbone = pixel_backbone(vision, inputs.load_pretrained)
    rows = backbone.rows()
    model = build(ModelInputs(inputs.vocabulary, backbone.width, rows, inputs.load_pretrained))
    if not any(hasattr(type(model), name) for name in READS_IMAGES[:-1]):
        raise InputError(f"{type(model).__name__} reads no images, so it cannot learn with a backbone.")
    model.__class__ = _extended(type(model))  # type: ignore[arg-type]
    model.vision = backbone
    return model


def pixel_backbone(vision: Vision, pretrained: bool) -> PixelBackbone:
    """The backbone of these settings."""
    return PixelBackbone(
        vision.backbone,
        vision.start,
        pretrained,
        pooled=vision.features == "vector",
        pixels=vision.pixels,
        frozen_norms=vision.norms == "frozen",
        half=vision.precision == "bfloat16",
        checkpointing=vision.checkpointing,
    )


def vision_facts(vision: Vision) -> dict[str, Any]:
    """What a run says of its backbone, so that photos are seen as in training."""
    backbone = pixel_backbone(vision, pretrained=False)
    return {
        "name": "pixels",
        "kind": vision.features,
        "rows": backbone.rows(),
        "width": backbone.width,
        "preprocessing": asdict(backbone.network.preprocessing),
        "resize": "squash",
    }


def vision_of(model: nn.Module) -> PixelBackbone | None:
    """The backbone that learns with a model, if any."""
    found = getattr(model, "vision", None)
    return found if isinstance(found, PixelBackbone) else None


def batch_as_seen(model: object, batch: Batch) -> Batch:
    """A batch of pixels with the feature rows of the model's backbone, for objectives that read rows themselves.

    The rows are constants: gradients reach the backbone through the model alone.
    """
    backbone = vision_of(model) if isinstance(model, nn.Module) else None
    if backbone is None or batch.images.pixels is None or not len(batch.images):
        return batch
    seen = backbone(batch.images)
    images = Images(seen.features.detach(), seen.mask, seen.boxes, batch.images.pixels, batch.images.columns)
    return Batch(images, batch.texts, batch.owner, batch.image_rows, batch.caption_rows)


@lru_cache
def _extended(kind: type[nn.Module]) -> type[nn.Module]:
    """The class of a model whose methods that take images see pixels."""
    methods = {name: _seeing(getattr(kind, name)) for name in READS_IMAGES if name in _own_methods(kind)}
    return type(f"{kind.__name__}OnPixels", (kind,), methods)


def _own_methods(kind: type[nn.Module]) -> set[str]:
    """Names that a class or its bases define, without nn.Module's own `forward`."""
    return {name for base in kind.__mro__ if base not in nn.Module.__mro__ for name in vars(base)}


def _seeing(method: Callable[..., Any]) -> Callable[..., Any]:
    def seen(self: nn.Module, images: Images, *rest: Any) -> Any:
        return method(self, self.get_submodule("vision")(images), *rest)

    seen.__doc__ = method.__doc__
    return seen
