"""What regions allow: counted by hand on a small pack."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grounded_world import grounded_pack
from tellapart.core.errors import InputError
from tellapart.core.files import save_array, write_json
from tellapart.data.feature_store import FeatureStore
from tellapart.evaluation.region_bounds import region_bounds

CORNER, LEFT, RIGHT = [0, 0, 0.1, 0.1], [0, 0, 0.5, 1], [0.5, 0, 1, 1]


def store_of(pack_folder: Path, regions: list[list[list[float]]], boxes: bool = True) -> FeatureStore:
    """Features of nothing but places, as many for each image as it is given."""
    folder = pack_folder / "features" / "places"
    folder.mkdir(parents=True)
    counts = [len(of_image) for of_image in regions]
    np.zeros((sum(counts), 1), np.float16).tofile(folder / "values.f16")
    save_array(folder / "offsets.npy", np.concatenate([[0], np.cumsum(counts)]))
    if boxes:
        save_array(folder / "boxes.npy", np.concatenate(regions).astype(np.float32))
    write_json(folder / "features.json", {"kind": "regions", "width": 1})
    return FeatureStore(folder)


def test_by_hand(tmp_path: Path) -> None:
    """Two test images with a dog on the left and men on the right, each named twice. The first image's regions are
    a corner, the left and the right half; the second's the left half alone.

    Dog: some region in both images (1), at random 1/3 and 1 (2/3), the first region in the second alone (1/2).
    Men: 1 and 0 (1/2), 1/3 and 0 (1/6), never (0). Means: 75, 41.67, 25."""
    pack = grounded_pack(tmp_path / "pack")
    store = store_of(pack.folder, [[LEFT]] * 6 + [[CORNER, LEFT, RIGHT], [LEFT]])
    figures = region_bounds(pack, store, "test")
    assert figures == pytest.approx(
        {
            "region_ceiling": 75.0,
            "region_ceiling_words": 75.0,
            "region_chance": 500 / 12,
            "region_chance_words": 500 / 12,
            "region_first": 25.0,
            "region_first_words": 25.0,
        }
    )


def test_features_without_places_are_rejected(tmp_path: Path) -> None:
    pack = grounded_pack(tmp_path / "pack")
    with pytest.raises(InputError, match="have no boxes"):
        region_bounds(pack, store_of(pack.folder, [[LEFT]] * 8, boxes=False), "test")
