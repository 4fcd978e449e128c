"""A folder in which every documented command can run: the files, packs, runs and index that the pages name."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

import tiny_hub
from tellapart.cli.main import main
from tellapart.search.photo_index import open_index

COLOURS = {"red": (220, 30, 30), "blue": (30, 30, 220), "white": (240, 240, 240)}
THINGS = ("dog", "cat")
PLACES = ("left", "middle", "right")
SENTENCES = (
    "a {colour} {thing} sits on the {place} of the image",
    "one {colour} {thing} is on the {place} of the photo",
    "the {thing} on the {place} of this image is {colour}",
    "a {thing} that is {colour} stands on the {place} here",
)
WIDTH, HEIGHT = 96, 64


def make_world(folder: Path) -> None:
    """Fill a folder, which must be the working directory, with all that the documented commands read."""
    for name in ("photos", "mine", "fifty"):
        draw_captioned(folder / name)
    for name in ("album", "few", "Photos/2019"):
        (folder / name).mkdir(parents=True)
        for photo in ("red-dog-left.png", "blue-cat-right.png"):
            shutil.copy(folder / "photos" / photo, folder / name)
    for name in ("holiday.jpg", "street.jpg", "crowd.jpg"):
        Image.open(folder / "photos" / "red-dog-left.png").save(folder / name)
    write_site(folder / "site", folder / "photos")
    write_shard(folder / "shards" / "00000.tar", folder / "photos")
    draw_flickr(folder / "flickr8k")
    write_karpathy(folder / "dataset_coco.json", folder / "train2017")
    write_judgements(folder / "path" / "to" / "flickr8k")
    write_texts(folder)
    for command in (
        "prepare photos --out pack",
        "extract pack --kind vector,grid,regions",
        "prepare photos --out packs/photos",
        "prepare flickr8k --out packs/flickr8k",
        "extract packs/flickr8k --kind vector,grid",
        "prepare coco_captions.txt.gz --format corpus --rules r2m --out packs/sentences",
        "train vse++ --data pack --out runs/find --set base.epochs=1 base.model.embedding=16",
        "train neuraltalk2 --data pack --out runs/tell --set nt.epochs=1 nt.model.hidden=16",
        "train scan-i2t --data pack --out runs/scan --set scan.epochs=1 scan.model.embedding=16",
        "index photos --out photos.index",
    ):
        assert main(command.split()) == 0, command
    edit_captions(folder)
    if importlib.util.find_spec("transformers"):
        for name in ("clip", "blip"):
            tiny_hub.ALL[name](folder / "models" / name)


def write_site(folder: Path, photos: Path) -> None:
    """Two pages with images that lack a text, and a page of documentation."""
    folder.mkdir()
    for name in ("red-dog-left.png", "blue-cat-right.png"):
        shutil.copy(photos / name, folder)
    (folder / "index.html").write_text("<p>Pets</p>\n<img src=red-dog-left.png>\n<img src='blue-cat-right.png'>\n")
    (folder / "pets.md").write_text("# Pets\n\n![](red-dog-left.png)\n")
    (folder.parent / "docs").mkdir()
    for page in ("README.md", "docs/index.md"):
        (folder.parent / page).write_text("No images here.\n")


def write_shard(path: Path, photos: Path) -> None:
    """The captioned photos as one tar file, as WebDataset has them."""
    path.parent.mkdir()
    with tarfile.open(path, "w") as tar:
        for photo in sorted(photos.glob("*.png")):
            caption = photo.with_suffix(".txt")
            words = caption.read_text() if caption.is_file() else photo.stem.replace("-", " ")
            for name, data in ((photo.name, photo.read_bytes()), (f"{photo.stem}.txt", words.encode())):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))


def edit_captions(folder: Path) -> None:
    """What people wrote about the photos of the index."""
    index = open_index(folder / "photos.index").store
    for path in sorted((folder / "photos").glob("*.png")):
        index.edit(str(path), f"my {path.stem.replace('-', ' ')} in the garden")


def scenes() -> list[tuple[str, str, str]]:
    """Colour, thing and place of each image."""
    return [(colour, thing, place) for colour in COLOURS for thing in THINGS for place in PLACES]


def draw(path: Path, colour: str, thing: str, place: str) -> None:
    """A square (dog) or a bar (cat) on grey."""
    third = PLACES.index(place) * WIDTH // 3
    pixels = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    pixels[16 : 48 if thing == "dog" else 28, third : third + 32] = COLOURS[colour]
    Image.fromarray(pixels).save(path)


def captions_of(colour: str, thing: str, place: str) -> list[str]:
    return [sentence.format(colour=colour, thing=thing, place=place) for sentence in SENTENCES]


def draw_captioned(folder: Path) -> None:
    """Images with captions.csv; two thirds train, the others validation and test."""
    folder.mkdir()
    with (folder / "captions.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["image", "caption", "split"])
        for scene in scenes():
            name = "-".join(scene) + ".png"
            draw(folder / name, *scene)
            rows.writerows([name, caption, split_of(*scene)] for caption in captions_of(*scene))


def split_of(colour: str, thing: str, place: str) -> str:
    return "train" if place != "right" else "val" if thing == "dog" else "test"


def draw_flickr(folder: Path) -> None:
    """The files of Flickr8k with Flickr30k Entities and detections."""
    for name in ("images", "entities/Sentences", "entities/Annotations"):
        (folder / name).mkdir(parents=True)
    tokens: list[str] = []
    detections: list[str] = []
    lists: dict[str, list[str]] = {"train": [], "val": [], "test": []}
    for number, (colour, thing, place) in enumerate(scenes(), start=100):
        name = f"{number}_x.jpg"
        draw(folder / "images" / name, colour, thing, place)
        lists[split_of(colour, thing, place)].append(name)
        captions = captions_of(colour, thing, place)
        tokens += [f"{name}#{order}\t{text}" for order, text in enumerate(captions)]
        left = PLACES.index(place) * 32
        box = [left, 16, left + 32, 48]
        detections.append(json.dumps({"image": name, "width": WIDTH, "height": HEIGHT, "boxes": [box],
                                      "scores": [0.9], "labels": [thing]}))  # fmt: skip
        tagged = [text.replace(f" {thing}", f" [/EN#1/animals {thing}]") for text in captions]
        (folder / "entities" / "Sentences" / f"{number}.txt").write_text("\n".join(tagged) + "\n")
        corners = "".join(f"<{tag}>{value + 1}</{tag}>" for tag, value in zip(("xmin", "ymin", "xmax", "ymax"), box))
        (folder / "entities" / "Annotations" / f"{number}.xml").write_text(
            f"<annotation><size><width>{WIDTH}</width><height>{HEIGHT}</height></size>"
            f"<object><name>1</name><bndbox>{corners}</bndbox></object></annotation>"
        )
    (folder / "Flickr8k.token.txt").write_text("\n".join(tokens) + "\n")
    (folder / "detections.jsonl").write_text("\n".join(detections) + "\n")
    for split, names in lists.items():
        listed = {"train": "trainImages", "val": "devImages", "test": "testImages"}[split]
        (folder / f"Flickr_8k.{listed}.txt").write_text("\n".join(names) + "\n")


def write_karpathy(file: Path, images: Path) -> None:
    """Images with their captions in one file of Karpathy's form."""
    images.mkdir()
    rows = []
    for number, scene in enumerate(scenes(), start=1):
        name = f"{number:012d}.jpg"
        draw(images / name, *scene)
        sentences = [{"raw": text} for text in captions_of(*scene)]
        rows.append({"filename": name, "cocoid": number, "split": split_of(*scene), "sentences": sentences})
    file.write_text(json.dumps({"dataset": "coco", "images": rows}))


def write_judgements(folder: Path) -> None:
    """Captions of two images, and what people said of them."""
    folder.mkdir(parents=True)
    lines = [f"{name}.jpg#{index}\tA {name} number {index} ." for name in ("cat", "dog") for index in range(5)]
    (folder / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n")
    (folder / "ExpertAnnotations.txt").write_text("cat.jpg\tdog.jpg#1\t1\t2\t1\ndog.jpg\tcat.jpg#2\t3\t3\t4\n")
    (folder / "CrowdFlowerAnnotations.txt").write_text("dog.jpg\tcat.jpg#0\t0.3\t1\t2\ncat.jpg\tdog.jpg#0\t0\t0\t3\n")


def write_texts(folder: Path) -> None:
    """Captions and references in the formats of `score`, and sentences without images."""
    references = {"1": ["a red dog", "one dog"], "2": ["a white cat", "the cat"]}
    given = {"1": "a red dog", "2": "a blue cat"}
    (folder / "refs.json").write_text(json.dumps(references))
    (folder / "ours.json").write_text(json.dumps(given))
    (folder / "results.json").write_text(json.dumps([{"image_id": int(k), "caption": c} for k, c in given.items()]))
    rows = [{"image_id": int(key), "caption": text} for key, texts in references.items() for text in texts]
    (folder / "captions_val.json").write_text(json.dumps({"annotations": rows}))
    for name in ("r1.txt", "r2.txt", "r3.txt", "a.txt", "b.txt"):
        (folder / name).write_text(f"a red dog in {name[0]}\na white cat\n")
    described = {"-".join(scene): captions_of(*scene) for scene in scenes()}
    (folder / "r.json").write_text(json.dumps(described))
    for name in ("a.json", "b.json"):
        (folder / name).write_text(json.dumps({key: captions[name == "a.json"] for key, captions in described.items()}))
    (folder / "similar.json").write_text(json.dumps({key: [other for other in described if other != key][:5]
                                                     for key in described}))  # fmt: skip
    np.save(folder / "vectors.npy", np.random.default_rng(0).normal(size=(len(described), 4)).astype(np.float32))
    sentences = [text for scene in scenes() for text in captions_of(*scene)]
    with gzip.open(folder / "coco_captions.txt.gz", "wt") as file:
        file.write("\n".join(sentences * 2) + "\n")
