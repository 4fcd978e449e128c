"""Small sources written on the spot for the tests of readers and of prepare."""

import json
from collections.abc import Sequence
from pathlib import Path

from PIL import Image


def draw(folder: Path, names: Sequence[str], size: tuple[int, int] = (40, 30)) -> None:
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size, (number * 20 % 255, 90, 120)).save(path)


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding=encoding)
    return path


def flickr(folder: Path) -> Path:
    """Three images (webp on disk, jpg in the token file) with two captions each, and one that does not exist."""
    draw(folder, ["images/11_a.webp", "images/22_b.webp", "images/33_c.webp"])
    captions = {
        "11_a.jpg": ["A grey dog runs .", "The dog is near by the sea"],
        "22_b.jpg": ["A cat sits on a mat .", "A small cat"],
        "33_c.jpg": ["Two birds fly", "Birds in the sky ."],
    }
    lines = [f"{name}#{k}\t{text}" for name, texts in captions.items() for k, text in enumerate(texts)]
    write(folder / "Tiny.token.txt", "\n".join([*lines, "44_d.jpg.1#0\tA phantom ."]) + "\n")
    write(folder / "Tiny.trainImages.txt", "11_a.jpg\n")
    write(folder / "Tiny.devImages.txt", "22_b.jpg\n")
    return folder


def entities(folder: Path) -> Path:
    """Phrases of 11_a in another order and spelling than its captions; boxes in a 101 x 101 original."""
    write(
        folder / "Sentences" / "11.txt",
        "[/EN#1/animals The dog] is nearby [/EN#2/scene the sea]\n[/EN#1/animals A gray dog] runs .\n",
    )
    box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>51</xmax><ymax>102</ymax></bndbox>"
    size = "<size><width>100</width><height>100</height></size>"
    write(
        folder / "Annotations" / "11.xml",
        f"<annotation>{size}<object><name>1</name>{box}</object>"
        "<object><name>2</name><scene>1</scene><nobndbox>1</nobndbox></object></annotation>",
    )
    return folder


def coco(path: Path, files: dict[int, str], captions: Sequence[tuple[int, int, str]]) -> Path:
    images = [{"id": key, "file_name": name, "width": 80, "height": 60} for key, name in files.items()]
    annotations = [{"id": key, "image_id": image, "caption": text} for key, image, text in captions]
    return write(path, json.dumps({"images": images, "annotations": annotations}))
