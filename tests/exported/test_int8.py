"""int8 graphs: ranges, biases that make up for rounded weights, and the choice of layers that stay exact."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from tellapart.exported import efficientnet_export
from tellapart.exported.backbone_graph import corrected_bias
from tellapart.exported.calibration import ChannelMeans, Watched, watch_inputs
from tellapart.exported.export import export_run, text_ranges
from tellapart.exported.ranges import Range
from tellapart.features.backbones import Backbone, load_backbone
from tellapart.inference.light.exported_run import ExportedRun
from tellapart.inference.light.matching import LightMatcher
from tellapart.models.matchers.dual_encoder import DualEncoderModel
from tellapart.runs.bundled import MODELS
from tellapart.runs.run import open_run

pytest.importorskip("onnx")


def test_nothing_is_clipped_if_nothing_may_be() -> None:
    everything, most = Watched(clipped=0), Watched()
    values = torch.zeros(100_000)
    values[77_777], values[7] = 50.0, -3.0
    for part in values.split(50_000):
        everything.see("layer", part), most.see("layer", part)
    assert everything.ranges() == {"layer": Range(-3.0, 50.0)}
    assert most.ranges()["layer"].highest < 50


@pytest.mark.parametrize("groups", [1, 6])
def test_a_corrected_bias_keeps_the_mean_output(groups: int) -> None:
    random = np.random.default_rng(0)
    weight, bias = random.normal(size=(6, 6 // groups, 3, 3)), random.normal(size=6)
    means = random.uniform(1, 2, 6)
    rounded = weight.round(1)
    naive = bias.copy()
    for output in range(6):
        for place in range(6 // groups):
            channel = output if groups == 6 else place
            naive[output] += ((weight - rounded)[output, place] * means[channel]).sum()
    corrected = corrected_bias(weight, rounded, bias, means)
    np.testing.assert_allclose(corrected, naive)
    inputs = torch.from_numpy(np.broadcast_to(means[None, :, None, None], (1, 6, 5, 5)).copy())
    convolved = [
        torch.conv2d(inputs, torch.from_numpy(one), torch.from_numpy(other), groups=groups)
        for one, other in ((weight, bias), (rounded, corrected))
    ]
    torch.testing.assert_close(*convolved)


def test_means_of_inputs() -> None:
    means, layer = ChannelMeans(), nn.Conv2d(2, 1, 1)
    stop = watch_inputs(means, {"layer": layer})
    batches = torch.arange(32.0).view(2, 2, 2, 2, 2)
    for batch in batches:
        layer(batch)
    stop()
    layer(batches[0])
    np.testing.assert_allclose(means.means()["layer"], batches.mean((0, 1, 3, 4)))


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    return load_backbone("efficientnet-lite2-coco")


def test_layers_stay_exact_until_the_error_is_small(
    backbone: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tellapart.features.weights import WEIGHTS

    weights = tmp_path / "weights.safetensors"
    weights.symlink_to(WEIGHTS / "efficientnet-lite2-coco.safetensors")
    smooth = torch.rand(2, 1, 3, 8, 8, generator=torch.Generator().manual_seed(0)) * 255
    pixels = [nn.functional.interpolate(one, (260, 260), mode="bilinear").byte() for one in smooth]
    sizes = []
    for limit in (1e9, 0.0):
        monkeypatch.setattr(efficientnet_export, "LARGEST_ERROR", limit)
        _, int8 = efficientnet_export.export_backbone(backbone, weights, pixels)
        sizes.append(int8.stat().st_size)
    assert sizes[0] < sizes[1]  # weights in float32 take four times as much
    right = [backbone.map(pixels[1]).flatten(2).transpose(1, 2).numpy()]
    assert 0 < efficientnet_export.cell_error(int8, pixels[1:], right) < 0.1
    assert efficientnet_export.cell_error(int8, pixels[1:], [0 * right[0] + 1]) > 0.1


def test_captions_calibrate_the_texts_of_a_matcher(tmp_path: Path) -> None:
    """Without captions, a graph in int8 that was made for other weights is removed."""
    shutil.copytree(MODELS / "matcher", tmp_path / "matcher")
    rounded = tmp_path / "matcher" / "text-int8.onnx"
    before, square = rounded.read_bytes(), np.zeros((260, 260, 3), np.uint8)
    written = export_run(tmp_path / "matcher", [square], shared=True, captions=["a cat", "Two dogs on a beach"])
    assert rounded in written and rounded.read_bytes() != before  # other ranges
    vector = LightMatcher(ExportedRun(tmp_path / "matcher"), precision="int8").caption_vectors(["two dogs on a beach"])
    exact = LightMatcher(ExportedRun(MODELS / "matcher"), precision="float32").encode_texts("two dogs on a beach")
    assert (vector * exact).sum() > 0.98
    assert rounded not in export_run(tmp_path / "matcher", [square], shared=True)
    assert not rounded.exists() and (tmp_path / "matcher" / "text.onnx").is_file()


def test_ranges_of_texts_are_those_of_each_caption_alone() -> None:
    """Padding is in no range: captions of different lengths give what each gives by itself."""
    run = open_run(MODELS / "matcher")
    assert isinstance(run.model, DualEncoderModel)
    captions = ["a cat", "two dogs running on a sandy beach next to the ocean"]
    both, one, other = (text_ranges(run, run.model, some) for some in (captions, captions[:1], captions[1:]))
    assert len(both) == 37
    for name, found in both.items():
        assert found.lowest == min(one[name].lowest, other[name].lowest)
        assert found.highest == max(one[name].highest, other[name].highest)
