"""Packs written sample by sample: the same rows as the usual way, in parts, with rows that stay on disk."""

from __future__ import annotations

import json
import pickle
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.test_unpack_shards import COLOURS, encoded, write_tar
from tellapart.core.errors import InputError
from tellapart.data import pack as packs
from tellapart.data import stream_pixels
from tellapart.data.check_pack import check_pack
from tellapart.data.pack import Pack
from tellapart.data.prepare import prepare_pack
from tellapart.data.stored_pixels import StoredPixels, decoded


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Two shards of twelve images, one of which is broken and one of which has no caption."""
    for shard in range(2):
        files: dict[str, bytes] = {}
        for number in range(6):
            colour = COLOURS[number % 4]
            files[f"{number:04d}.png"] = encoded(colour)
            files[f"{number:04d}.txt"] = f"a {colour} wall\none {colour} field".encode()
        if shard:
            files["0003.png"] = encoded("red")[:40]
            files["0004.txt"] = b" "
        write_tar(tmp_path / "shards" / f"{shard:05d}.tar", files)
    return tmp_path / "shards"


def test_a_streamed_pack_is_the_usual_one(shards: Path, tmp_path: Path) -> None:
    usual = prepare_pack(shards, tmp_path / "usual", rules="ltd", nouns=False)
    streamed = prepare_pack(shards, tmp_path / "streamed", rules="ltd", stream=True)
    assert [caption.text for caption in streamed.captions] == [caption.text for caption in usual.captions]
    assert [caption.words for caption in streamed.captions] == [caption.words for caption in usual.captions]
    assert streamed.vocabulary == usual.vocabulary
    for name in ("tokens", "offsets", "owner"):
        assert np.array_equal(getattr(streamed, name), getattr(usual, name)), name
    assert (streamed.images[0].width, streamed.images[0].height) == (24, 16)
    assert streamed.image_path(7).read_bytes() == usual.image_path(7).read_bytes()
    assert streamed.report["skipped"]["counts"] == {"not an image": 1, "image without caption": 1}
    assert streamed.report["words"]["tokens"] == usual.report["words"]["tokens"]
    assert not check_pack(tmp_path / "streamed").problems


def test_images_are_stored_in_parts(shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_pixels, "PART_IMAGES", 4)
    pack = prepare_pack(shards, tmp_path / "pack", rules="ltd", stream=True, store_side=16)
    stored = StoredPixels(pack)
    assert len(stored.parts) == 3 and stored.stored.all() and len(pack.images) == 10
    stored.verify()
    for row in range(10):
        colour = pack.captions[2 * row].text.split()[1]
        expected = decoded(encoded(colour))[0, 0].astype(int)
        assert np.abs(decoded(stored.encoded(row))[8, 8].astype(int) - expected).max() < 12
    assert not (tmp_path / "pack-images").exists() and not check_pack(tmp_path / "pack").problems


def test_rows_of_a_large_pack_stay_on_disk(shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = prepare_pack(shards, tmp_path / "pack", rules="ltd", nouns=False)
    assert isinstance(pack.images, list) and isinstance(pack.captions, list) and isinstance(pack.captions_of, list)
    monkeypatch.setattr(packs, "MANY_ROWS", 5)
    large = pickle.loads(pickle.dumps(Pack(tmp_path / "pack")))
    assert list(large.images) == pack.images and list(large.captions) == pack.captions
    assert large.captions[3:5] == pack.captions[3:5] and large.images[-1] == pack.images[-1]
    pickled = pickle.loads(pickle.dumps(large.captions))
    assert pickled[2] == pack.captions[2] and not isinstance(large.captions, list)
    assert [large.captions_of[row] for row in range(len(large.images))] == pack.captions_of
    for name in ("train", "all"):
        assert np.array_equal(large.split(name).captions, pack.split(name).captions)
    with pytest.raises(IndexError):
        large.images[len(pack.images)]
    text = (tmp_path / "pack" / "captions.jsonl").read_text().splitlines()
    (tmp_path / "pack" / "captions.jsonl").write_text("\n".join(["{" + "x" * (len(text[0]) - 1), *text[1:]]) + "\n")
    with pytest.raises(InputError, match=r"captions\.jsonl.*prepare the pack again"):
        Pack(tmp_path / "pack").captions[0]


def test_only_shards_are_streamed(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(encoded("red"))
    with pytest.raises(InputError, match="`stream` reads shards"):
        prepare_pack(tmp_path, tmp_path / "pack", stream=True)
    write_tar(tmp_path / "few" / "0.tar", {"1.png": encoded("red"), "1.txt": b"rare"})
    with pytest.raises(InputError, match="use a smaller `min_count`"):
        prepare_pack(tmp_path / "few", tmp_path / "pack", rules="neuraltalk", stream=True)
    with pytest.raises(InputError, match="at least 16"):
        prepare_pack(tmp_path / "few", tmp_path / "pack", stream=True, store_side=8)
    assert not (tmp_path / "pack").exists()


def test_files_of_img2dataset_next_to_its_table(tmp_path: Path) -> None:
    """Its output as files has a parquet table of addresses beside each folder, which is no shard."""
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    folder = tmp_path / "data"
    (folder / "00000").mkdir(parents=True)
    for number, colour in enumerate(COLOURS):
        (folder / "00000" / f"{number:09d}.jpg").write_bytes(encoded(colour, "JPEG"))
        (folder / "00000" / f"{number:09d}.txt").write_text(f"a {colour} wall")
        (folder / "00000" / f"{number:09d}.json").write_text(json.dumps({"caption": f"a {colour} wall"}))
    parquet.write_table(arrow.table({"url": ["x"] * 4, "caption": list(COLOURS)}), folder / "00000.parquet")
    (folder / "00000_stats.json").write_text("{}")
    pack = prepare_pack(folder, tmp_path / "pack", rules="ltd", nouns=False)
    assert sorted(caption.text for caption in pack.captions) == sorted(f"a {colour} wall" for colour in COLOURS)


class FakeDatasets(types.ModuleType):
    """Stands for Hugging Face's datasets: a data set of two splits, or no network."""

    def load_dataset(self, name: str, streaming: bool) -> dict[str, list[dict[str, Any]]]:
        if name != "known/walls":
            raise ConnectionError("Couldn't reach the hub\nand more")
        rows = [{"image": {"bytes": encoded(c), "path": None}, "caption": [f"a {c} wall"]} for c in COLOURS]
        return {"train": rows[:3], "validation": rows[3:]}


def test_a_data_set_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", FakeDatasets("datasets"))
    pack = prepare_pack("hf:known/walls", tmp_path / "pack", rules="ltd", nouns=False)
    assert [image.split for image in pack.images] == ["train"] * 3 + ["val"]
    with pytest.raises(InputError, match=r"'un/known' is no folder.*Couldn't reach the hub\).*give its folder"):
        prepare_pack("hf:un/known", tmp_path / "other")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match="pip install datasets"):
        prepare_pack("hf:known/walls", tmp_path / "other")


def test_a_folder_of_save_to_disk(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs Hugging Face's datasets")
    for colour in COLOURS:
        (tmp_path / f"{colour}.png").write_bytes(encoded(colour))
    columns = {
        "image": [str(tmp_path / f"{colour}.png") for colour in COLOURS],
        "text": [f"a {c} wall" for c in COLOURS],
    }
    made = datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image())
    datasets.DatasetDict({"train": made.select(range(3)), "test": made.select([3])}).save_to_disk(
        str(tmp_path / "saved")
    )
    pack = prepare_pack(f"hf:{tmp_path / 'saved'}", tmp_path / "pack", rules="ltd", nouns=False)
    assert sorted((image.split, caption.text) for image, caption in zip(pack.images, pack.captions)) == sorted(
        [*(("train", f"a {colour} wall") for colour in COLOURS[:3]), ("test", f"a {COLOURS[3]} wall")]
    )
