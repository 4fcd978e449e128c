"""The split of COCO by hash: the same for everybody, and readable by `prepare`."""

import hashlib
import json
from pathlib import Path

import numpy as np
from PIL import Image

from tellapart.cli.coco_split import CocoSplitOptions, write_split
from tellapart.data.coco_split import coco_split
from tellapart.data.prepare import prepare_pack
from tellapart.data.readers.source import ReaderOptions
from tellapart.text.rules import TextRules


def test_sorted_by_hash_and_never_the_left_out() -> None:
    ids, left_out = range(1, 200), set(range(10, 60))
    split = coco_split(ids, left_out, held_out=20)
    expected = sorted(
        (image for image in ids if image not in left_out),
        key=lambda image: hashlib.sha256(f"tellapart-coco-{image}".encode()).hexdigest(),
    )
    assert list(split) == expected
    assert [split[image] for image in expected] == ["test"] * 20 + ["val"] * 20 + ["train"] * 109


def test_does_not_depend_on_the_order_of_ids() -> None:
    assert coco_split([3, 1, 2], held_out=1) == coco_split([2, 3, 1, 1], held_out=1)


def test_prepare_reads_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "train2017"
    folder.mkdir()
    for image in range(1, 9):
        Image.fromarray(np.full((8, 8, 3), image, np.uint8)).save(folder / f"{image:012d}.jpg")
    annotations = [{"image_id": image, "caption": f"a dog number {image} runs"} for image in range(1, 8)]
    (tmp_path / "captions.json").write_text(json.dumps({"annotations": annotations}))
    (tmp_path / "ids.txt").write_text("3\n")
    options = CocoSplitOptions(
        (tmp_path / "captions.json",), folder, tmp_path / "dataset_coco.json", tmp_path / "ids.txt"
    )
    write_split(options)
    pack = prepare_pack(
        tmp_path / "dataset_coco.json",
        tmp_path / "pack",
        options=ReaderOptions(images=folder),
        rules=TextRules(vocabulary="all", min_count=1),
        nouns=False,
    )
    assert sorted(int(image.id) for image in pack.images) == [1, 2, 4, 5, 6, 7]  # 3 is left out, 8 has no caption
    assert pack.manifest["name"] == "coco"
