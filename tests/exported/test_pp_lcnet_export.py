"""PP-LCNetV2 as a graph: equal to torch for any kind of block, from weights that stay in their own file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from tellapart.core.errors import InputError
from tellapart.exported.pp_lcnet_export import export_pp_lcnet
from tellapart.exported.running import graph_results
from tellapart.features.backbones import IMAGENET_MEAN, IMAGENET_STD, Backbone
from tellapart.features.folding import fold_norms
from tellapart.features.pp_lcnet import PPLCNetV2, Stage
from tellapart.images.preprocessing import Preprocessing
from tellapart.inference.light.sessions import Session

pytest.importorskip("onnx")
STAGES = (
    Stage(1, 3, 1, 16),
    Stage(2, 5, 2, 24, merged=True, split=True),
    Stage(3, 5, 2, 32, merged=True, residual=True),
)


def trained_looking(stages: tuple[Stage, ...] = STAGES) -> PPLCNetV2:
    """A small network whose batch norms and biases differ from channel to channel."""
    torch.manual_seed(0)
    network = PPLCNetV2(stages).eval()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            for value, (low, high) in (
                (module.running_mean, (-0.3, 0.3)),
                (module.running_var, (0.01, 0.5)),
                (module.weight, (0.5, 1.5)),
                (module.bias, (-0.2, 0.4)),
            ):
                assert value is not None
                nn.init.uniform_(value, low, high)
    return network


def as_backbone(network: PPLCNetV2, size: int) -> Backbone:
    return Backbone("small", network, network.width, Preprocessing(size, IMAGENET_MEAN, IMAGENET_STD))


def save_network(network: PPLCNetV2, file: Path, prefix: str = "", kind: torch.dtype = torch.float32) -> None:
    """The weights in a file; the network has them in the same precision from now on."""
    state = {key: v.to(kind) if v.is_floating_point() else v for key, v in network.state_dict().items()}
    save_file({prefix + key: value.contiguous() for key, value in state.items()}, file)
    network.load_state_dict(state)


def graph_equals_map(backbone: Backbone, file: Path) -> np.ndarray:
    """Export, compare cells with torch's map, and return the cells."""
    size = backbone.preprocessing.size
    pixels = np.random.default_rng(0).integers(0, 256, (3, size, size, 3), np.uint8)
    (path,) = export_pp_lcnet(backbone, file)
    (cells,) = graph_results(path, [{"pixels": pixels}], "cells")
    with torch.no_grad():
        right = backbone.map(torch.from_numpy(pixels).permute(0, 3, 1, 2)).flatten(2).transpose(1, 2).numpy()
    assert cells.dtype == np.float32 and right.std() > 0.05
    np.testing.assert_allclose(cells, right, rtol=1e-4, atol=1e-4 * abs(right).max())
    np.testing.assert_array_equal(cells, Session(path)(pixels=pixels)["cells"])
    return cells


@pytest.mark.parametrize("kind", [torch.float32, torch.float16])
@pytest.mark.parametrize(("size", "rows"), [(64, 64), (50, 49)])
def test_cells_are_those_of_torch(tmp_path: Path, kind: torch.dtype, size: int, rows: int) -> None:
    network, file = trained_looking(), tmp_path / "backbone.safetensors"
    save_network(network, file, kind=kind)
    assert graph_equals_map(as_backbone(network, size), file).shape == (3, rows, 32)
    frozen = as_backbone(trained_looking(), size)
    frozen.network.load_state_dict(network.state_dict())
    fold_norms(frozen.network)  # as `load_backbone` returns it; the file still has the batch norms
    graph_equals_map(frozen, file)


def test_each_part_counts(tmp_path: Path) -> None:
    """The small network has gates, merged filters and added inputs, and none can be left out unnoticed."""
    network = trained_looking()
    pixels = torch.randint(0, 256, (1, 3, 64, 64), dtype=torch.uint8)
    with torch.no_grad():
        whole = as_backbone(network, 64).map(pixels)
        for change in ({"split": False}, {"residual": False}, {"merged": False}):
            other = trained_looking(tuple(replace(stage, **change) for stage in STAGES))
            assert (as_backbone(other, 64).map(pixels) - whole).abs().max() > 0.01


def test_a_file_without_batch_norms_has_biases(tmp_path: Path) -> None:
    network, file = trained_looking(), tmp_path / "merged.safetensors"
    fold_norms(network)
    save_file({key: value.contiguous() for key, value in network.state_dict().items()}, file)
    graph_equals_map(as_backbone(network, 64), file)


def test_weights_inside_a_model(tmp_path: Path) -> None:
    network, file = trained_looking(), tmp_path / "model.safetensors"
    save_network(network, file, "vision.network.network.")
    graph_equals_map(as_backbone(network, 64), file)


def test_the_graph_holds_no_weights_and_an_old_one_in_int8_goes(tmp_path: Path) -> None:
    wide = (Stage(1, 3, 1, 64), Stage(1, 5, 2, 512, merged=True, split=True))
    network, file = trained_looking(wide), tmp_path / "backbone.safetensors"
    save_network(network, file)
    (tmp_path / "backbone-int8.onnx").write_bytes(b"of another network")
    (path,) = export_pp_lcnet(as_backbone(network, 32), file)
    assert path == tmp_path / "backbone.onnx" and sorted(tmp_path.iterdir()) == [path, file]
    assert path.stat().st_size < 10_000 < file.stat().st_size / 10


def test_other_networks_and_files_are_rejected(tmp_path: Path) -> None:
    file = tmp_path / "other.safetensors"
    save_file({"weight": torch.zeros(1)}, file)
    with pytest.raises(InputError, match=r"other\.safetensors does not hold the weights of a PP-LCNetV2"):
        export_pp_lcnet(as_backbone(trained_looking(), 32), file)
    plain = Backbone("plain", nn.Conv2d(3, 8, 1), 8, Preprocessing(32, IMAGENET_MEAN, IMAGENET_STD))
    with pytest.raises(InputError, match="plain is not a PP-LCNetV2"):
        export_pp_lcnet(plain, file)
    assert list(tmp_path.iterdir()) == [file]
