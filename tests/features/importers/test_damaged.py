"""Imports of damaged files: every fault is one sentence that names the file."""

import base64
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from drawn_pack import drawn_pack
from mutations import damage
from tellapart.core.errors import Error, InputError
from tellapart.features.importers.importing import import_features

IMAGES, WIDTH = 3, 4


def values(row: int) -> np.ndarray:
    return np.random.default_rng(row).normal(size=(2, WIDTH)).astype(np.float32)


def npz(folder: Path) -> Path:
    (folder / "bu").mkdir()
    for row in range(IMAGES):
        boxes = np.full((2, 4), 0.5, np.float32)
        np.savez(folder / "bu" / f"{row:03d}.npz", feat=values(row), bbox=boxes, image_w=9, image_h=9)
    return folder / "bu"


def tsv(folder: Path) -> Path:
    lines = []
    for row in range(IMAGES):
        boxes = np.full((2, 4), 0.5, np.float32)
        arrays = (base64.b64encode(array.tobytes()).decode() for array in (boxes, values(row)))
        lines.append("\t".join((f"{row:03d}", "9", "9", "2", *arrays)))
    (folder / "bu.tsv").write_text("\n".join(lines) + "\n")
    return folder / "bu.tsv"


def hdf5(folder: Path) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "bu.h5", "w") as file:
        for row in range(IMAGES):
            file[f"{row:03d}"] = values(row)
    return folder / "bu.h5"


def precomp(folder: Path) -> Path:
    (folder / "x_precomp").mkdir()
    np.save(folder / "x_precomp" / "train_ims.npy", np.stack([values(row)[0] for row in range(IMAGES)]))
    (folder / "x_precomp" / "train_caps.txt").write_text("a dog\na cat\na ball\n")
    return folder / "x_precomp"


@pytest.mark.parametrize("make", [npz, tsv, hdf5, precomp])
def test_damaged_files_are_imported_or_rejected_in_a_sentence(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    source = make(tmp_path)
    pack = drawn_pack(tmp_path, images=IMAGES)
    target = source if source.is_file() else sorted(source.iterdir())[-1]
    whole, rejected = target.read_bytes(), 0
    for seed in range(60):
        damage(target, whole, seed)
        folder = pack.folder if make is not precomp else tmp_path / f"pack{seed}"
        try:
            import_features(folder, source, "bu", overwrite=True)
        except Error as error:
            rejected += 1
            assert str(tmp_path) in str(error), error
    assert rejected > 20


def test_arrays_of_the_wrong_shape_or_type_are_named(tmp_path: Path) -> None:
    pack, source = drawn_pack(tmp_path, images=IMAGES), npz(tmp_path)
    for array in (np.asarray(3.0), np.asarray([["a", "b"]]), np.zeros((2, WIDTH), complex), np.zeros((0, WIDTH))):
        np.savez(source / "001.npz", feat=array, bbox=np.zeros((2, 4), np.float32), image_w=9, image_h=9)
        with pytest.raises(InputError):
            import_features(pack.folder, source, "bu", overwrite=True)
    np.savez(source / "001.npz", feat=values(1), bbox=np.zeros((3, 4), np.float32), image_w=9, image_h=9)
    with pytest.raises(InputError, match="boxes for"):
        import_features(pack.folder, source, "bu", overwrite=True)
