"""A pretrained model's own image processor: images as the model was trained to see them."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.hub import files_only, quietly
from tellapart.images.decoding import WHOLE, Square, read_image
from tellapart.images.preprocessing import Interpolation, Preprocessing
from tellapart.images.sources import ImageSource

FULL_SIZE = 1 << 30
"""Images are decoded at full size: the processor alone resizes them."""
GREYS = (0, 85, 255)


class OwnProcessor:
    """An image processor of `transformers`. It may be used from several threads."""

    def __init__(self, processor: Any) -> None:
        self.processor = processor

    def __call__(self, images: Sequence[np.ndarray]) -> dict[str, Tensor]:
        """Images [H, W, 3] of uint8 as the model's inputs: `pixel_values` [I, 3, S, S], and what else it reads."""
        found = self.processor(images=self._opened(images), return_tensors="pt")
        return {name: value for name, value in found.items() if isinstance(value, Tensor)}

    def read(self, sources: Sequence[ImageSource]) -> dict[str, Tensor]:
        """The inputs of image files."""
        return self([read_image(source, FULL_SIZE) for source in sources])

    def preprocessing(self) -> Preprocessing:
        """The size, mean and standard deviation of its squares; InputError if it does not make squares.

        Mean and deviation are measured on grey images, whatever the processor's settings call them.
        """
        side = 64
        found = [self([np.full((side, side, 3), grey, np.uint8)])["pixel_values"] for grey in GREYS]
        if any(value.dim() != 4 or value.shape[2] != value.shape[3] for value in found):
            raise InputError(
                "This model's image processor does not make squares, one per image, which a backbone reads; give a "
                "model whose processor does (CLIP, SigLIP, DINOv2, LLaVA, ...)."
            )
        black, dark, white = (value.float().mean((0, 2, 3)) for value in found)  # [3] each
        scale = (white - black) / GREYS[2]
        if not torch.allclose(black + GREYS[1] * scale, dark, atol=1e-4):
            raise InputError("This model's image processor is not linear in the pixels, so that it cannot be used.")
        std = 1 / (255 * scale)
        mean = -black * std
        interpolation: Interpolation = (
            "bicubic" if int(getattr(self.processor, "resample", 2) or 2) == 3 else "bilinear"
        )
        size = int(found[0].shape[2])
        return Preprocessing(
            size, self._stated("image_mean", mean), self._stated("image_std", std), interpolation, self._crop()
        )

    def square(self, source: ImageSource) -> Square:
        """An image resized and cropped as the processor does, in uint8; the model's mean is not subtracted."""
        image = read_image(source, FULL_SIZE)
        unscaled = {"do_rescale": False, "do_normalize": False}
        found = self.processor(images=self._opened([image]), return_tensors="pt", **unscaled)["pixel_values"]
        return Square(found[0].round().clamp(0, 255).to(torch.uint8), self.window(*image.shape[:2]))

    def settings(self) -> dict[str, Any]:
        """All settings, as the model's folder stores them."""
        return dict(self.processor.to_dict())

    def save(self, folder: Path) -> None:
        """Write preprocessor_config.json."""
        self.processor.save_pretrained(str(folder))

    def _opened(self, images: Sequence[np.ndarray]) -> list[Any]:
        from PIL import Image

        return [Image.fromarray(np.ascontiguousarray(image)) for image in images]

    def _sizes(self) -> tuple[int, int]:
        """Short side after resizing (0: both sides are set), and side of the centre crop (0: none)."""
        settings = self.settings()
        size = settings.get("size") or {}
        short = int(size.get("shortest_edge") or 0) if isinstance(size, dict) else 0
        crop = settings.get("crop_size") or {}
        side = int(crop.get("height") or 0) if isinstance(crop, dict) else int(crop or 0)
        return short, side if settings.get("do_center_crop") else 0

    def _stated(self, name: str, measured: Tensor) -> tuple[float, float, float]:
        """The processor's own values where they are what was measured."""
        stated = self.settings().get(name)
        if isinstance(stated, list | tuple) and torch.allclose(torch.tensor(stated).float(), measured, atol=1e-4):
            return _three(stated)
        return _three([round(value, 6) for value in measured.tolist()])

    def _crop(self) -> float:
        short, crop = self._sizes()
        return min(1.0, crop / short) if short and crop else 1.0

    def window(self, height: int, width: int) -> tuple[float, float, float, float]:
        """The part that is seen of an image of this shape: left, top, right, bottom in fractions."""
        short, crop = self._sizes()
        if not short or not crop:
            return WHOLE
        scale = short / min(height, width)
        across, down = min(1.0, crop / (width * scale)), min(1.0, crop / (height * scale))
        return (0.5 - across / 2, 0.5 - down / 2, 0.5 + across / 2, 0.5 + down / 2)


def _three(values: Iterable[Any]) -> tuple[float, float, float]:
    first, second, third = (round(float(value), 8) for value in values)
    return first, second, third


def open_processor(folder: str) -> OwnProcessor | None:
    """The image processor of a model's folder or hub name; None if it has none."""
    auto: Any = importlib.import_module("transformers").AutoImageProcessor
    local = Path(folder).is_dir()
    names = ("preprocessor_config.json", "processor_config.json")
    if local and not any((Path(folder) / name).is_file() for name in names):
        return None
    try:
        with quietly():
            return OwnProcessor(auto.from_pretrained(folder, local_files_only=files_only(folder)))
    except (OSError, ValueError, KeyError, ImportError) as error:
        if not local:
            return None
        raise InputError(
            f"The image processor of {folder} cannot be opened ({(str(error).splitlines() or ['unknown error'])[0]})."
        ) from error
