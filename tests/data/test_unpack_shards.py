"""Shards of WebDataset, img2dataset and Hugging Face datasets become packs."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tellapart.core.errors import InputError
from tellapart.data.prepare import prepare_pack
from tellapart.data.unpack_shards import sample_of, samples_of, shards_in, suffix_of

COLOURS = ("red", "green", "blue", "white")


def encoded(colour: str, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (24, 16), colour).save(file, kind)
    return file.getvalue()


def write_tar(path: Path, files: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def captions_of(folder: Path) -> dict[str, list[str]]:
    """Captions of each split, sorted."""
    pack = prepare_pack(folder, folder.parent / "pack", rules="ltd", nouns=False)
    found: dict[str, list[str]] = {}
    for caption in pack.captions:
        found.setdefault(caption.split, []).append(caption.text)
        pixels = np.asarray(Image.open(pack.image_path(caption.image)).convert("RGB"))
        colour = Image.new("RGB", (1, 1), caption.text.split()[1]).getpixel((0, 0))
        assert np.abs(pixels[8, 8].astype(int) - np.asarray(colour)).max() < 12, "the caption is that of its image"
    return {split: sorted(texts) for split, texts in found.items()}


def test_tar_shards_of_webdataset_and_img2dataset(tmp_path: Path) -> None:
    files: dict[str, bytes] = {}
    for number, colour in enumerate(COLOURS):
        files[f"{number:04d}.jpg"] = encoded(colour, "JPEG")
        files[f"{number:04d}.json"] = json.dumps({"caption": f"a {colour} wall"}).encode()
        if number % 2:
            files[f"{number:04d}.txt"] = f"a {colour} wall\n\none {colour} field".encode()
    files["0009.txt"] = b"a caption without an image"
    files["../../outside.jpg"] = encoded("red", "JPEG")
    write_tar(tmp_path / "shards" / "train" / "00000.tar", files)
    found = captions_of(tmp_path / "shards")
    expected = [f"a {colour} wall" for colour in COLOURS] + ["one green field", "one white field"]
    assert found == {"train": sorted(expected)}
    assert not (tmp_path.parent / "outside.jpg").exists()


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_tables_of_hugging_face_datasets(tmp_path: Path, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    folder = tmp_path / "data"
    folder.mkdir()
    for split, colours in (("train", COLOURS[:3]), ("validation", COLOURS[3:])):
        rows = {
            "image": [{"bytes": encoded(colour), "path": None} for colour in colours],
            "captions": [[f"a {colour} wall", f"one {colour} field"] for colour in colours],
        }
        table = pa.table(rows)
        if kind == "parquet":
            pytest.importorskip("pyarrow.parquet").write_table(table, folder / f"{split}-00000-of-00001.parquet")
        else:
            (folder / split).mkdir()
            path = folder / split / "data-00000-of-00001.arrow"
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table)
    found = captions_of(folder)
    assert len(found["train"]) == 6 and found["val"] == ["a white wall", "one white field"]


def test_a_broken_shard_and_one_without_captions_are_errors(tmp_path: Path) -> None:
    (tmp_path / "broken.tar").write_bytes(b"no tar file" * 100)
    with pytest.raises(InputError, match="cannot be read"):
        prepare_pack(tmp_path / "broken.tar", tmp_path / "pack")
    write_tar(tmp_path / "images.tar", {"1.png": encoded("red")})
    with pytest.raises(InputError, match="no image with a caption"):
        prepare_pack(tmp_path / "images.tar", tmp_path / "pack")
    assert not (tmp_path / "pack").exists() and not (tmp_path / "pack-images").exists()


def test_open_clips_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for colour in COLOURS:
        (tmp_path / "images" / f"{colour}.png").write_bytes(encoded(colour))
    lines = ["filepath\ttitle", *(f"images/{colour}.png\ta {colour} wall" for colour in COLOURS)]
    (tmp_path / "train.csv").write_text("\n".join(lines) + "\n")
    pack = prepare_pack(tmp_path, tmp_path.parent / "open-clip", rules="ltd", nouns=False)
    assert sorted(caption.text for caption in pack.captions) == sorted(f"a {colour} wall" for colour in COLOURS)


def test_shards_are_recognised_by_suffix(tmp_path: Path) -> None:
    assert suffix_of(encoded("red")) == ".png" and suffix_of(encoded("red", "WEBP")) == ".webp"
    assert suffix_of(b"text") == "" and shards_in(tmp_path) == []


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.tar"])
def test_a_shard_that_is_none_is_an_error_with_a_reason(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(b"PAR1 is no shard at all PAR1")
    with pytest.raises(InputError, match=rf"{name} cannot be read .*download it again"):
        list(samples_of([tmp_path / name]))


def test_samples_with_odd_captions_have_none(tmp_path: Path) -> None:
    """One broken sample of strangers does not end the reading of a shard."""
    files = {"a.png": encoded("red"), "a.json": b"[" * 100_000}
    write_tar(tmp_path / "00000.tar", files | {"b.png": encoded("red"), "b.json": b'{"caption": "a red wall"}'})
    assert [sample.captions for sample in samples_of([tmp_path / "00000.tar"])] == [(), ("a red wall",)]
    assert sample_of({"caption": [{"raw": 3}, {"raw": None}, {}, "a wall"]}, None).captions == ("a wall",)


def test_a_column_of_splits_has_the_names_of_packs() -> None:
    splits = [sample_of({"split": value}, "test").split for value in ("validation", "Train", 3, "", None)]
    assert splits == ["val", "train", "3", "test", "test"]


def test_parquet_files_may_name_images_by_path(tmp_path: Path) -> None:
    """`Dataset.to_parquet` writes paths without bytes; such files had "no image with a caption"."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    source = tmp_path / "table"
    source.mkdir()
    rows = []
    for number, colour in enumerate(COLOURS):
        place = source if number % 2 else tmp_path
        (place / f"{colour}.png").write_bytes(encoded(colour))
        path = f"{colour}.png" if number % 2 else str(tmp_path / f"{colour}.png")
        rows.append({"image": {"bytes": None, "path": path}, "text": f"a {colour} wall"})
    rows.append({"image": {"bytes": None, "path": "gone.png"}, "text": "a lost wall"})
    pq.write_table(pa.Table.from_pylist(rows), source / "train.parquet")
    assert captions_of(source) == {"train": sorted(f"a {colour} wall" for colour in COLOURS)}


def test_samples_without_image_or_caption_are_reported(tmp_path: Path) -> None:
    """They were left out without a word: the report said that nothing was skipped."""
    files = {"1.png": encoded("red"), "1.txt": b"a red wall", "2.png": encoded("blue"), "3.txt": b"a lost wall",
             "4.jpg": b"not an image", "4.txt": b"a broken wall"}  # fmt: skip
    write_tar(tmp_path / "shards" / "train.tar", files)
    pack = prepare_pack(tmp_path / "shards", tmp_path / "pack", rules="ltd", nouns=False)
    assert [caption.text for caption in pack.captions] == ["a red wall"]
    report = json.loads((pack.folder / "report.json").read_text())
    assert report["skipped"]["counts"] == {"missing image": 2, "image without caption": 1}
    write_tar(tmp_path / "none" / "train.tar", {"3.txt": b"a lost wall"})
    with pytest.raises(InputError, match="no image with a caption: of its 1 samples, none has both"):
        prepare_pack(tmp_path / "none", tmp_path / "pack2", rules="ltd", nouns=False)
