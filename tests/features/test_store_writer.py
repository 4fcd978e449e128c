from pathlib import Path

import numpy as np
import pytest

from tellapart.core.errors import InputError
from tellapart.data.feature_store import FeatureStore
from tellapart.features.store_writer import Rows, StorePlan, StoreWriter

COUNTS = np.asarray([2, 1, 3, 1, 2])


def plan(**changes: object) -> StorePlan:
    facts = {"kind": "regions", "width": 4, **changes}
    return StorePlan(facts, COUNTS, unit=2, boxes=True, detections=True)


def rows(unit: int) -> Rows:
    count = int(COUNTS[unit * 2 : unit * 2 + 2].sum())
    generator = np.random.default_rng(unit)
    return Rows(
        generator.normal(size=(count, 4)),
        generator.random((count, 4)),
        generator.random(count),
        generator.integers(0, 5, count),
    )


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def write_whole(folder: Path) -> FeatureStore:
    writer = StoreWriter(folder, plan())
    for unit in range(3):
        writer.write(unit, rows(unit))
    return writer.finish()


def test_a_store_reads_back_row_by_row(tmp_path: Path) -> None:
    store = write_whole(tmp_path / "f")
    assert store.offsets.tolist() == [0, 2, 3, 6, 7, 9]
    np.testing.assert_array_equal(store.values[3:7], rows(1).values.astype(np.float16))
    np.testing.assert_allclose(store.boxes[7:], rows(2).boxes, rtol=1e-6)
    np.testing.assert_array_equal(store.labels[:3], rows(0).labels)
    index, mask = store.gather(np.asarray([2, 1]))
    assert index.tolist() == [[3, 4, 5], [2, 0, 0]]
    assert mask.sum() == 4
    assert sorted(written(tmp_path / "f")) == [
        "boxes.npy",
        "checksums.json",
        "features.json",
        "labels.npy",
        "offsets.npy",
        "scores.npy",
        "values.f16",
    ]


def test_going_on_gives_the_same_bytes(tmp_path: Path) -> None:
    write_whole(tmp_path / "whole")
    first = StoreWriter(tmp_path / "parts", plan())
    first.write(1, rows(1))
    first.close()
    with (tmp_path / "parts" / "progress.jsonl").open("a") as journal:
        journal.write("2")  # torn: no newline, so unit 2 does not count
    with pytest.raises(InputError, match="No finished features"):
        FeatureStore(tmp_path / "parts")
    second = StoreWriter(tmp_path / "parts", plan())
    assert second.finished == {1}
    for unit in (2, 0):
        second.write(unit, rows(unit))
    second.finish()
    assert written(tmp_path / "parts") == written(tmp_path / "whole")


def test_another_plan_starts_again(tmp_path: Path) -> None:
    first = StoreWriter(tmp_path / "f", plan())
    first.write(0, rows(0))
    first.close()
    second = StoreWriter(tmp_path / "f", plan(backbone="other"))
    assert second.finished == set()
    second.close()


def test_the_same_features_are_left_alone_and_others_only_replaced_on_request(tmp_path: Path) -> None:
    write_whole(tmp_path / "f")
    again = StoreWriter(tmp_path / "f", plan())
    assert again.complete
    assert again.finish().width == 4
    with pytest.raises(InputError, match="`overwrite=True`"):
        StoreWriter(tmp_path / "f", plan(backbone="other"))
    replaced = StoreWriter(tmp_path / "f", plan(backbone="other"), overwrite=True)
    assert not (tmp_path / "f" / "features.json").exists()
    replaced.close()


def test_two_writers_do_not_share_a_folder(tmp_path: Path) -> None:
    first = StoreWriter(tmp_path / "f", plan())
    with pytest.raises(InputError, match="Another process"):
        StoreWriter(tmp_path / "f", plan())
    first.close()


def test_values_beyond_float16_and_unfinished_stores_are_rejected(tmp_path: Path) -> None:
    writer = StoreWriter(tmp_path / "f", plan())
    with pytest.raises(InputError, match="float16"), np.errstate(over="ignore"):
        writer.write(0, Rows(np.full((3, 4), 1e9), np.zeros((3, 4)), np.zeros(3), np.zeros(3)))
    with pytest.raises(ValueError, match="not written"):
        writer.finish()
    writer.close()
