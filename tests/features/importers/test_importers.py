"""Each format written as people have it, read back, and rejected with a clear error where it is broken."""

import base64
from pathlib import Path

import numpy as np
import pytest

from drawn_pack import drawn_pack
from tellapart.cli.extract import ExtractOptions, extract
from tellapart.core.errors import InputError
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.features.importers.importing import import_features, recognise
from tellapart.features.regions import grid_boxes

WIDTH = 6


def values(row: int, count: int) -> np.ndarray:
    return np.random.default_rng(row).normal(size=(count, WIDTH)).astype(np.float32)


def pixel_boxes(count: int) -> np.ndarray:
    """In pixels of an image of 100 x 50."""
    return np.tile(np.asarray([[10, 10, 50, 25]], np.float32), (count, 1))


def same(store: FeatureStore, row: int, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(
        store.values[store.offsets[row] : store.offsets[row + 1]], expected.astype(np.float16)
    )


def test_npz_per_image_with_boxes(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path, images=3)
    (tmp_path / "bu").mkdir()
    for row in range(3):
        np.savez(
            tmp_path / "bu" / f"{row:03d}.npz",
            x=values(row, row + 2),
            bbox=pixel_boxes(row + 2),
            image_w=100,
            image_h=50,
        )
    (store,) = extract(ExtractOptions(pack.folder, imports=tmp_path / "bu", name="bottom-up"))
    assert (store.name, store.kind, store.width, store.offsets.tolist()) == (
        "bottom-up",
        "regions",
        WIDTH,
        [0, 2, 5, 9],
    )
    same(store, 2, values(2, 4))
    np.testing.assert_allclose(store.boxes[0], [0.1, 0.2, 0.5, 0.5])


def test_npy_vectors_grids_and_sibling_boxes(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path, images=2)
    for name in ("fc", "map", "bu_att", "bu_box"):
        (tmp_path / name).mkdir()
    for row in range(2):  # named by number alone: 0.npy is image 000
        np.save(tmp_path / "fc" / f"{row}.npy", values(row, 1)[0])
        np.save(tmp_path / "map" / f"{row}.npy", values(row, 6).reshape(2, 3, WIDTH))
        np.savez(tmp_path / "bu_att" / f"{row}.npz", feat=values(row, 2))
        np.save(tmp_path / "bu_box" / f"{row}.npy", pixel_boxes(2) / 100)
    vector, grid = (import_features(pack.folder, tmp_path / name) for name in ("fc", "map"))
    assert (vector.kind, vector.boxes) == ("vector", None)
    same(vector, 1, values(1, 1))
    assert grid.kind == "grid"
    np.testing.assert_allclose(grid.boxes[:6], grid_boxes(2, 3))
    regions = import_features(pack.folder, tmp_path / "bu_att")
    np.testing.assert_allclose(regions.boxes[0], [0.1, 0.1, 0.5, 0.25])


def encoded(array: np.ndarray) -> str:
    return base64.b64encode(array.tobytes()).decode()


def test_tsv_of_six_and_of_ten_columns(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path, images=2)
    six, ten = [], []
    for row in (1, 0):
        arrays = [encoded(pixel_boxes(3)), encoded(values(row, 3))]
        six.append("\t".join([str(row), "100", "50", "3", *arrays]))
        labels, scores = np.asarray([5, 0, 2]), np.asarray([0.9, 0.5, 0.1], np.float32)
        details = [encoded(labels), encoded(scores), encoded(labels), encoded(scores)]
        ten.append("\t".join([f"{row:03d}", "50", "100", *details, "3", *arrays]))
    (tmp_path / "six.tsv").write_text("\n".join(six) + "\n")
    (tmp_path / "ten.tsv").write_text("\n".join(ten) + "\n")
    store = import_features(pack.folder, tmp_path / "six.tsv")
    same(store, 0, values(0, 3))
    np.testing.assert_allclose(store.boxes[0], [0.1, 0.2, 0.5, 0.5])
    detailed = import_features(pack.folder, tmp_path / "ten.tsv")
    assert detailed.labels[:3].tolist() == [5, 0, 2]
    assert detailed.label_names == ["0", "1", "2", "3", "4", "5"]
    np.testing.assert_allclose(detailed.scores[:3], [0.9, 0.5, 0.1], rtol=1e-6)


def test_hdf5_in_three_layouts(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    pack = drawn_pack(tmp_path, images=2)
    with h5py.File(tmp_path / "each.h5", "w") as file:
        for row in range(2):
            file[f"{row:03d}"] = values(row, 2 + row)
    with h5py.File(tmp_path / "array.h5", "w") as file:
        file["features"] = np.stack([values(1, 2), values(0, 2)])
        file["boxes"] = np.stack([pixel_boxes(2), pixel_boxes(2)]) / 100
        file["image_ids"] = [b"001", b"000"]
    with h5py.File(tmp_path / "ranges.hdf5", "w") as file:
        file["image_features"] = np.concatenate([values(0, 2), values(1, 3)])
        file["pos_boxes"] = [[0, 2], [2, 5]]
        file["image_bb"] = np.concatenate([pixel_boxes(2), pixel_boxes(3)]) / 100
        file["image_ids"] = [0, 1]
    each, array, ranges = (import_features(pack.folder, tmp_path / n) for n in ("each.h5", "array.h5", "ranges.hdf5"))
    same(each, 1, values(1, 3))
    same(array, 0, values(0, 2))
    same(ranges, 1, values(1, 3))
    np.testing.assert_allclose(ranges.boxes[0], [0.1, 0.1, 0.5, 0.25])


@pytest.mark.parametrize("repeated", [False, True])
def test_precomp_makes_the_pack_too(tmp_path: Path, repeated: bool) -> None:
    folder = tmp_path / "f30k_precomp"
    folder.mkdir()
    for split, images in (("train", 3), ("dev", 1), ("test", 2)):
        array = np.stack([values(row, 4) for row in range(images)])
        np.save(folder / f"{split}_ims.npy", np.repeat(array, 2, 0) if repeated else array)
        captions = [f"A dog number {row} runs ." for row in range(2 * images)]
        (folder / f"{split}_caps.txt").write_text("\n".join(captions) + "\n")
    store = import_features(tmp_path / "pack", folder)
    pack = Pack(tmp_path / "pack")
    assert [image.split for image in pack.images] == ["train"] * 3 + ["val"] + ["test"] * 2
    assert pack.owner.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert pack.captions[0].words[:3] == ("a", "dog", "number")
    assert "dog" in pack.vocabulary.ids
    same(store, 4, values(0, 4))
    assert import_features(tmp_path / "pack", folder).facts == store.facts  # a second run finds all of it there


def test_bad_input_gets_a_clear_error(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path, images=2)
    folder = pack.folder
    with pytest.raises(InputError, match="does not exist"):
        recognise(tmp_path / "absent")
    (tmp_path / "a.zip").write_text("")
    with pytest.raises(InputError, match="not a known format of features"):
        recognise(tmp_path / "a.zip")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no \.npy"):
        import_features(folder, tmp_path / "empty")
    (tmp_path / "short").mkdir()
    np.save(tmp_path / "short" / "000.npy", values(0, 2))
    with pytest.raises(InputError, match="no features for 1 of 2 images, 001"):
        import_features(folder, tmp_path / "short")
    np.save(tmp_path / "short" / "001.npy", np.ones((2, WIDTH + 1)))
    with pytest.raises(InputError, match=r"001\.npy has width 7"):
        import_features(folder, tmp_path / "short")
    (tmp_path / "short" / "001.npy").write_bytes(b"nonsense")
    with pytest.raises(InputError, match=r"001\.npy cannot be read"):
        import_features(folder, tmp_path / "short", "again")
    (tmp_path / "bad.tsv").write_text("0\t100\t50\t1\t!!\t!!\n")
    with pytest.raises(InputError, match=r"bad\.tsv, line 1"):
        import_features(folder, tmp_path / "bad.tsv")
    (tmp_path / "thin.tsv").write_text("0\t100\n")
    with pytest.raises(InputError, match="line 1: 2 columns"):
        import_features(folder, tmp_path / "thin.tsv")
    (tmp_path / "odd_precomp").mkdir()
    np.save(tmp_path / "odd_precomp" / "train_ims.npy", np.zeros((2, 3)))
    (tmp_path / "odd_precomp" / "train_caps.txt").write_text("a\nb\nc\n")
    with pytest.raises(InputError, match="do not fit together"):
        import_features(tmp_path / "new", tmp_path / "odd_precomp")


def test_boxes_of_another_size_are_rejected(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path, images=1)
    (tmp_path / "bu").mkdir()
    np.savez(tmp_path / "bu" / "000.npz", x=values(0, 1), bbox=pixel_boxes(1), image_w=20, image_h=20)
    with pytest.raises(InputError, match="exceed the image"):
        import_features(pack.folder, tmp_path / "bu")
    np.savez(tmp_path / "bu" / "000.npz", x=values(0, 1), bbox=pixel_boxes(1))
    with pytest.raises(InputError, match="neither it nor the pack states"):
        import_features(pack.folder, tmp_path / "bu")
