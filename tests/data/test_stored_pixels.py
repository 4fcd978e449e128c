"""Pixels stored in a pack: round trip, parts that arrive one by one, damage, and reading files where there are none."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from drawn_pack import drawn_pack
from tellapart.cli.extract import ExtractOptions, extract
from tellapart.cli.prepare import PrepareOptions, prepare
from tellapart.core.errors import InputError
from tellapart.core.files import save_array
from tellapart.data.add_pixels import add_pixels
from tellapart.data.device_pixels import DevicePixels, free_memory, keep_on_device
from tellapart.data.fewer_captions import keep_captions
from tellapart.data.pack import Pack
from tellapart.data.square_reader import SquareReader
from tellapart.data.squares import Squares
from tellapart.data.store_pixels import store_pixels
from tellapart.data.stored_pixels import StoredPixels, decoded

SIDE = 32


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    return drawn_pack(tmp_path, images=7)


def webp(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "WEBP", lossless=True)
    return buffer.getvalue()


def write_part(folder: Path, images: dict[str, np.ndarray]) -> Path:
    folder.mkdir(parents=True)
    data = [webp(pixels) for pixels in images.values()]
    (folder / "images.bin").write_bytes(b"".join(data))
    save_array(folder / "offsets.npy", np.cumsum([0, *map(len, data)]))
    save_array(folder / "ids.npy", np.asarray(list(images)))
    return folder


def flat(value: int, side: int = SIDE) -> np.ndarray:
    return np.full((side, side, 3), value, np.uint8)


@pytest.mark.parametrize("codec", ["webp", "jpeg"])
def test_stored_images_are_the_squashed_files(pack: Pack, codec: str) -> None:
    from_files = [Squares(pack, SIDE).read(row) for row in range(7)]
    stored = store_pixels(pack, SIDE, codec=codec, quality=95, part_images=3)
    assert len(stored.parts) == 3 and stored.stored.all() and stored.facts["codec"] == codec
    assert stored.parts[0].encoded(0) == stored.encoded(0)
    for row, pixels in enumerate(from_files):
        found = decoded(stored.encoded(row))
        assert found.shape == (SIDE, SIDE, 3)
        assert np.abs(found.astype(float) - pixels).mean() < 4
        assert np.abs(found.astype(float) - np.roll(pixels, 8, 1)).mean() > 8
    stored.verify()


def test_storing_again_adds_only_what_is_missing(pack: Pack) -> None:
    first = store_pixels(pack, SIDE, part_images=4)
    last = first.parts[1].folder
    for file in last.iterdir():
        file.unlink()
    last.rmdir()
    again = store_pixels(pack, SIDE, part_images=4)
    assert again.stored.all() and [len(part.rows) for part in again.parts] == [4, 3]
    with pytest.raises(InputError, match="of side 32, not 48"):
        store_pixels(pack, 48)


def test_damage_is_noticed(pack: Pack) -> None:
    part = store_pixels(pack, SIDE).parts[0].folder
    data = bytearray((part / "images.bin").read_bytes())
    data[50] ^= 1
    (part / "images.bin").write_bytes(bytes(data))
    with pytest.raises(InputError, match="damaged"):
        StoredPixels(pack).verify()
    (part / "images.bin").write_bytes(bytes(data[:-1]))
    with pytest.raises(InputError, match=r"does not fit its offsets\.npy"):
        StoredPixels(pack)


def test_parts_arrive_one_by_one(pack: Pack, tmp_path: Path) -> None:
    one = write_part(tmp_path / "one", {"002": flat(10), "000": flat(20)})
    two = write_part(tmp_path / "two", {"000": flat(99), "005": flat(30), "unknown": flat(1)})
    assert add_pixels(pack, one) == 2 and add_pixels(pack, two) == 1 and add_pixels(pack, one) == 0
    stored = StoredPixels(pack)
    assert np.flatnonzero(stored.stored).tolist() == [0, 2, 5]
    squares = Squares(pack, SIDE)
    assert [int(squares.read(row)[0, 0, 0]) for row in (0, 2, 5)] == [20, 10, 30]
    assert squares.read(1).std() > 5  # from its file
    assert Squares(pack, 16).read(2).shape == (16, 16, 3)
    stored.verify()


def test_a_part_that_is_cut_or_foreign_is_rejected(pack: Pack, tmp_path: Path) -> None:
    part = write_part(tmp_path / "part", {"000": flat(1), "001": flat(2)})
    whole = (part / "images.bin").read_bytes()
    (part / "images.bin").write_bytes(whole[:-3])
    with pytest.raises(InputError, match="incomplete"):
        add_pixels(pack, part)
    (part / "images.bin").write_bytes(b"x" * len(whole))
    with pytest.raises(InputError, match="cannot be opened"):
        add_pixels(pack, part)
    (part / "ids.npy").unlink()
    with pytest.raises(InputError, match=r"no ids\.npy"):
        add_pixels(pack, part)
    with pytest.raises(InputError, match="is in"):
        add_pixels(pack, write_part(tmp_path / "other", {"x": flat(1)}))
    with pytest.raises(InputError, match="squares of one size"):
        add_pixels(pack, write_part(tmp_path / "sizes", {"000": flat(1), "001": flat(1, 16)}))
    assert not (pack.folder / "pixels").exists()


def test_a_pack_without_image_files(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write_part(source / "shard00", {"7": flat(10), "8": flat(20)})
    captions = {"7": ["a dog"], "8": {"captions": ["a cat", "one cat"], "split": "val"}, "9": ["a dog runs"]}
    for key, value in captions.items():
        captions[key] = value if isinstance(value, dict) else {"captions": value, "split": "train"}
    (source / "captions.json").write_text(json.dumps(captions))
    pack = prepare(PrepareOptions(str(source), tmp_path / "pack", min_count=1, nouns=False))
    assert [(image.id, image.file, image.split) for image in pack.images] == [
        ("7", "", "train"), ("8", "", "val"), ("9", "", "train"),
    ]  # fmt: skip
    squares = Squares(pack, SIDE)
    assert int(squares.read(1)[0, 0, 0]) == 20
    with pytest.raises(InputError, match=r"1 of 3 images .* neither stored pixels nor a file, 9 among"):
        squares.check(np.arange(3))
    later = write_part(tmp_path / "shard01", {"9": flat(30)})
    assert extract(ExtractOptions(pack.folder, add_pixels=(later,), progress=False)) == ()
    Squares(pack, SIDE).check(np.arange(3))


def test_prepare_and_extract_store_pixels(pack: Pack, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    extract(ExtractOptions(pack.folder, store_pixels=SIDE, workers=2))
    assert "7 of 7 images, 32 pixels a side" in capsys.readouterr().out
    scenes = prepare(
        PrepareOptions("scenes", tmp_path / "scenes", scene_count=12, scene_size=32, store_pixels=SIDE, json=True)
    )
    assert StoredPixels(scenes).stored.sum() == 12


def test_copies_of_a_pack_share_its_pixels(pack: Pack, tmp_path: Path) -> None:
    store_pixels(pack, SIDE)
    assert StoredPixels(keep_captions(pack, tmp_path / "fewer")).stored.all()


def test_processes_read_what_threads_read(pack: Pack) -> None:
    store_pixels(pack, SIDE)
    rows = np.asarray([6, 0, 3, 3, 1])
    threads, processes = SquareReader(pack, SIDE), SquareReader(pack, SIDE, processes=1)
    expected = threads.read(rows)
    assert np.array_equal(processes.read(rows), expected)
    assert np.array_equal(processes.read(rows[:2]), expected[:2])
    processes.close()
    threads.close()


def test_images_are_decoded_once_and_kept(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = DevicePixels(pack, SIDE, torch.device("cpu"), keep=True)
    streamed = DevicePixels(pack, SIDE, torch.device("cpu"), keep=False)
    asked: list[list[int]] = []
    read = kept.reader.read
    monkeypatch.setattr(kept.reader, "read", lambda rows: asked.append(rows.tolist()) or read(rows))
    first, again = kept.read(np.asarray([4, 1, 4])), kept.read(np.asarray([1, 2]))
    assert asked == [[1, 4], [2]]
    assert torch.equal(first, streamed.read(np.asarray([4, 1, 4]))) and torch.equal(again[0], first[1])
    assert kept.read(np.zeros(0, np.int64)).shape == (0, SIDE, SIDE, 3)


def test_where_images_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    device = torch.device("cpu")
    assert free_memory(device) > 0
    monkeypatch.setattr("tellapart.data.device_pixels.free_memory", lambda device: 2 * 10 * 8 * 8 * 3)
    assert keep_on_device("auto", 10, 8, device) and not keep_on_device("auto", 11, 8, device)
    assert keep_on_device("device", 11, 8, device) and not keep_on_device("stream", 1, 8, device)
    with pytest.raises(InputError, match="auto, device, stream"):
        keep_on_device("disk", 1, 8, device)
