"""Look-alikes from vectors and from files."""

import json
from pathlib import Path

import numpy as np
import pytest

from tellapart.core.errors import InputError
from tellapart.metrics.captions import neighbours as module
from tellapart.metrics.captions.neighbours import nearest_rows, read_neighbours
from tellapart.metrics.captions.score import score


def test_nearest_rows_equal_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 7)
    vectors = np.random.default_rng(0).normal(size=(20, 5)) * np.arange(1, 21)[:, None]
    expected = []
    for row, one in enumerate(vectors):
        cosine = {
            other: one @ two / np.linalg.norm(one) / np.linalg.norm(two)
            for other, two in enumerate(vectors)
            if other != row
        }
        expected.append(sorted(cosine, key=lambda other: -cosine[other])[:4])
    assert nearest_rows(vectors, 4).tolist() == expected


def test_a_copy_is_a_look_alike_but_the_row_itself_is_not() -> None:
    assert nearest_rows(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), 9).tolist() == [[1, 2], [0, 2], [0, 1]]


@pytest.mark.parametrize("vectors", [np.zeros(3), np.zeros((1, 3)), np.full((2, 2), np.nan)])
def test_invalid_vectors(vectors: np.ndarray) -> None:
    with pytest.raises(InputError):
        nearest_rows(vectors)


def test_files(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.2]]))
    assert read_neighbours(tmp_path / "v.npy", ["x", "y", "z"], 1) == [[2], [2], [0]]
    (tmp_path / "n.json").write_text(json.dumps({"7": [9, "8"], "8": ["7"], "9": [8]}))
    assert read_neighbours(tmp_path / "n.json", [7, 8, 9]) == [[2, 1], [0], [1]]
    assert read_neighbours(tmp_path / "n.json", [7, 8, 9], 1) == [[2], [0], [1]]


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ({"7": [8]}, "no similar images for image 8"),
        ({"7": [7], "8": [7]}, "has the similar image 7, which is the image itself"),
        ({"7": [5], "8": [7]}, "has the similar image 5"),
        ([1], "must be an object"),
    ],
)
def test_invalid_lists(tmp_path: Path, listed: object, message: str) -> None:
    (tmp_path / "n.json").write_text(json.dumps(listed))
    with pytest.raises(InputError, match=message):
        read_neighbours(tmp_path / "n.json", [7, 8])


def test_invalid_files(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.zeros((3, 2)))
    with pytest.raises(InputError, match="for each of the 2 images"):
        read_neighbours(tmp_path / "v.npy", [7, 8])
    (tmp_path / "w.npy").write_text("no array")
    with pytest.raises(InputError, match="cannot be read as an array"):
        read_neighbours(tmp_path / "w.npy", [7, 8])
    with pytest.raises(InputError, match="cannot be read as JSON"):
        read_neighbours(tmp_path / "missing.json", [7, 8])


def test_score_reads_them() -> None:
    references = [["red car"], ["red bus"], ["cat"]]
    found = score(references, ["red car", "red bus", "cat"], ("CIDErBtw",), neighbours=[[1], [0], [0]])
    assert found["CIDErBtw"] > 0
