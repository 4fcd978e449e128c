"""Tables and shards read row by row, from disk and at addresses: the packs are the usual ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from data.test_unpack_shards import COLOURS, encoded, write_tar
from local_s3 import local_s3
from tellapart.core.errors import InputError
from tellapart.data import stream_pack
from tellapart.data.check_pack import check_pack
from tellapart.data.pack import Pack
from tellapart.data.prepare import prepare_pack
from tellapart.data.readers.source import ReaderOptions
from tellapart.data.unpack_shards import Sample

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Images in a folder beside tables: open_clip's, and the same as CSV without header and as JSONL."""
    made = tmp_path / "source"
    (made / "images").mkdir(parents=True)
    rows = []
    for number, colour in enumerate(COLOURS):
        (made / "images" / f"{colour}.png").write_bytes(encoded(colour))
        split = "validation" if number == 3 else "train"
        rows += [
            (f"images/{colour}.png", f"a {colour} wall, seen", split),
            (f"images/{colour}.png", f"one {colour} field", split),
        ]
    (made / "clip.tsv").write_text("filepath\ttitle\tsplit\n" + "".join("\t".join(row) + "\n" for row in rows))
    (made / "plain.csv").write_text("".join(f'{name},"{text}"\n' for name, text, _ in rows))
    lines = [json.dumps({"image": name, "caption": [text], "split": split}) for name, text, split in rows]
    (made / "rows.jsonl").write_text("\n".join(lines) + "\n")
    return made


def same_rows(one: Pack, two: Pack) -> None:
    assert [caption.text for caption in one.captions] == [caption.text for caption in two.captions]
    assert one.vocabulary == two.vocabulary
    for name in ("tokens", "offsets", "owner"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    for row in range(len(two.images)):
        assert one.image_path(row).read_bytes() == two.image_path(row).read_bytes()


@pytest.mark.parametrize("table", ["clip.tsv", "plain.csv", "rows.jsonl"])
def test_a_streamed_table_is_the_usual_one(folder: Path, tmp_path: Path, table: str) -> None:
    usual = prepare_pack(folder / table, tmp_path / "usual", rules="ltd", nouns=False)
    streamed = prepare_pack(folder / table, tmp_path / "streamed", rules="ltd", stream=True)
    same_rows(streamed, usual)
    if table != "plain.csv":  # which names no splits
        assert [image.split for image in streamed.images] == ["train", "train", "train", "val"]
    assert not check_pack(tmp_path / "streamed").problems


def test_what_a_table_lacks_is_counted(folder: Path, tmp_path: Path) -> None:
    text = (folder / "clip.tsv").read_text()
    (folder / "clip.tsv").write_text(text + "images/none.png\ta wall\ttrain\nimages/red.png\n")
    (folder / "images" / f"{COLOURS[0]}.png").write_bytes(b"no image")
    pack = prepare_pack(folder / "clip.tsv", tmp_path / "pack", rules="ltd", stream=True, store_side=16)
    assert len(pack.images) == 3
    assert pack.report["skipped"]["counts"] == {"not an image": 1, "missing file": 1, "broken line": 1}


def test_images_in_another_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "clip.tsv").write_text((folder / "clip.tsv").read_text())
    options = ReaderOptions(images=folder)
    assert (
        len(prepare_pack(tmp_path / "clip.tsv", tmp_path / "pack", rules="ltd", stream=True, options=options).images)
        == 4
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("image,caption\na.png,one\nb.png,two\na.png,three\n", "1 images have rows in several places; sort the table"),
        ("image,caption\nnone.png,one\n", "has no image with a caption"),
        ("a,b\n1,2\n", "no column of image names among a, b"),
        ("", "is empty"),
        (b"image,caption\n\xff,x\n", "is not utf-8 text"),
    ],
)
def test_a_wrong_table(tmp_path: Path, content: str | bytes, message: str) -> None:
    for name in "ab":
        (tmp_path / f"{name}.png").write_bytes(encoded("red"))
    (tmp_path / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message):
        prepare_pack(tmp_path / "t.csv", tmp_path / "pack", rules="ltd", stream=True)
    assert not (tmp_path / "pack").exists() and not (tmp_path / "pack-images").exists()


def test_rows_do_not_lead_out_of_the_folder(folder: Path, tmp_path: Path) -> None:
    """A table of others, in a folder or at an address, must not put files of this machine into a pack."""
    (tmp_path / "own.png").write_bytes(encoded("red"))
    own = (tmp_path / "own.png").as_uri()
    names = ["images/none\0.png", "../own.png", own, f"simplecache::{own}", "n" * 300 + ".png"]
    rows = "".join(f"{name},a wall\n" for name in ["images/red.png", *names])
    (folder / "t.csv").write_text(f"image,caption\n{rows}")
    pack = prepare_pack(folder / "t.csv", tmp_path / "pack", rules="ltd", stream=True)
    assert len(pack.images) == 1
    assert pack.report["skipped"]["counts"] == {"missing file": 2, "file outside the folder": 3}
    address = f"memory://{tmp_path.name}/t.csv"
    with fsspec.open(address, "w") as file:
        file.write(f"image,caption\n{own},a wall\n")
    with pytest.raises(InputError, match="has no image with a caption"):
        prepare_pack(address, tmp_path / "never", rules="ltd", stream=True)
    fsspec.filesystem("memory").rm(f"/{tmp_path.name}", recursive=True)


def test_few_images_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_pack, "TOGETHER", 3)
    monkeypatch.setattr(stream_pack, "TOGETHER_BYTES", 10)
    samples = [Sample(b"x" * size, (), None) for size in (1, 1, 1, 9, 1, 12, 1)]
    groups = [[len(sample.image) for sample in group] for group in stream_pack.in_groups(samples)]
    assert groups == [[1, 1, 1], [9, 1], [12], [1]]


@pytest.fixture(params=["memory", "s3"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty folder on each kind of storage."""
    if request.param == "s3":
        with local_s3() as bucket:
            yield bucket
    else:
        yield f"memory://{tmp_path.name}/data"
        fsspec.filesystem("memory").rm(f"/{tmp_path.name}", recursive=True)


def copy(folder: Path, address: str) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            with fsspec.open(f"{address}/{file.relative_to(folder)}", "wb", auto_mkdir=True) as target:
                target.write(file.read_bytes())


def test_shards_and_tables_at_addresses(folder: Path, tmp_path: Path, address: str) -> None:
    copy(folder, address)
    usual = prepare_pack(folder / "clip.tsv", tmp_path / "table", rules="ltd", stream=True)
    same_rows(prepare_pack(f"{address}/clip.tsv", tmp_path / "remote-table", rules="ltd", stream=True), usual)

    shards = tmp_path / "shards"
    for number in range(2):
        files = {
            f"{c}.{kind}": encoded(c) if kind == "png" else f"a {c} wall".encode()
            for c in COLOURS
            for kind in ("png", "txt")
        }
        write_tar(shards / "train" / f"{number:05d}.tar", files)
    copy(shards, f"{address}/shards")
    usual = prepare_pack(shards, tmp_path / "usual", rules="ltd", nouns=False)
    same_rows(prepare_pack(f"{address}/shards", tmp_path / "remote", rules="ltd", stream=True), usual)
    unpacked = prepare_pack(f"{address}/shards", tmp_path / "unpacked", rules="ltd", nouns=False)
    same_rows(unpacked, usual)
    assert {image.split for image in unpacked.images} == {"train"}
    one = prepare_pack(f"{address}/shards/train/00000.tar", tmp_path / "one", rules="ltd", stream=True)
    assert len(one.images) == len(COLOURS)
    with pytest.raises(InputError, match="with `stream=True`"):
        prepare_pack(f"{address}/clip.tsv", tmp_path / "never")
    with pytest.raises(InputError, match="has no shards"):
        prepare_pack(f"{address}/images", tmp_path / "never")
    with pytest.raises(InputError, match=r"none\.tsv does not exist"):
        prepare_pack(f"{address}/none.tsv", tmp_path / "never", stream=True)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_tables_of_data_sets_at_addresses(tmp_path: Path, suffix: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.table(
        {"image": [{"bytes": encoded(c)} for c in COLOURS], "caption": [f"a {c} wall" for c in COLOURS]}
    )
    (tmp_path / "data").mkdir()
    if suffix == "parquet":
        parquet.write_table(table, tmp_path / "data" / "train-0.parquet")
    else:
        with arrow.ipc.new_stream(str(tmp_path / "data" / "train-0.arrow"), table.schema) as writer:
            writer.write_table(table)
    pack = prepare_pack((tmp_path / "data").as_uri(), tmp_path / "pack", rules="ltd", stream=True)
    assert [caption.text for caption in pack.captions] == [f"a {colour} wall" for colour in COLOURS]
