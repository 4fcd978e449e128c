"""Small data files of every kind that is read, and what reads them."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from data import builders
from drawn_pack import drawn_pack

NAMES = ("11_a.png", "22_b.png", "33_c.png")
TEXTS = ("A grey dog runs .", "The dog is near the sea", "A cat sits on a mat .", "Two birds fly", "Birds in the sky .")
IMAGES, WIDTH = 3, 4


@dataclass(frozen=True)
class DataSource:
    """`make` writes the files into a folder; `read` reads a copy of the folder and writes into another."""

    make: Callable[[Path], object]
    read: Callable[[Path, Path], object]


def prepare_all(folder: Path, out: Path, **options: object) -> None:
    from tellapart.data.pack import Pack
    from tellapart.data.prepare import prepare_pack
    from tellapart.text.rules import preset

    rules = dataclasses.replace(preset("default"), min_count=1)
    prepare_pack(folder, out / "pack", nouns=False, rules=rules, **options)  # type: ignore[arg-type]
    pack = Pack(out / "pack")
    assert len(pack.offsets) == len(pack.captions) + 1 and len(pack.owner) == len(pack.captions)
    assert len(pack.phrases) >= 0 and len(pack.detections) >= 0


def _rows() -> list[tuple[str, str, str]]:
    return [(NAMES[place % 3], text, ("train", "val", "test")[place % 3]) for place, text in enumerate(TEXTS)]


def _csv(folder: Path) -> None:
    builders.draw(folder, NAMES)
    lines = ["image,caption,split", *(f'{name},"{text}",{split}' for name, text, split in _rows())]
    builders.write(folder / "captions.csv", "\n".join(lines) + "\n")


def _tsv(folder: Path) -> None:
    builders.draw(folder, NAMES)
    lines = ["file\ttext", *(f"{name}\t{text}" for name, text, _ in _rows())]
    builders.write(folder / "captions.tsv", "\n".join(lines) + "\n")


def _jsonl(folder: Path) -> None:
    builders.draw(folder, NAMES)
    lines = [json.dumps({"image": name, "caption": text, "split": split}) for name, text, split in _rows()]
    builders.write(folder / "captions.jsonl", "\n".join(lines) + "\n")


def _texts(folder: Path) -> None:
    builders.draw(folder, NAMES)
    for name in NAMES:
        builders.write(folder / name.replace(".png", ".txt"), "\n".join(TEXTS[:2]))


def _coco(folder: Path) -> None:
    builders.draw(folder / "images", NAMES)
    captions = [(100 + place, 1 + place % 3, text) for place, text in enumerate(TEXTS)]
    builders.coco(folder / "captions_train2017.json", dict(enumerate(NAMES, start=1)), captions)
    found = [{"image_id": 1, "category_id": 18, "bbox": [1, 2, 20, 15], "score": 0.9}]
    builders.write(folder / "detections.json", json.dumps(found))


def _karpathy(folder: Path) -> None:
    builders.draw(folder, NAMES)
    images = [
        {"filename": name, "split": ("train", "val", "test")[place], "sentids": [2 * place, 2 * place + 1],
         "sentences": [{"raw": text, "tokens": text.split(), "sentid": 2 * place + order}
                       for order, text in enumerate(TEXTS[:2])]}
        for place, name in enumerate(NAMES)
    ]  # fmt: skip
    builders.write(folder / "dataset_flickr8k.json", json.dumps({"images": images, "dataset": "flickr8k"}))


def _flickr(folder: Path) -> None:
    builders.flickr(folder)
    builders.entities(folder / "entities")
    row = {
        "image": "11_a.jpg",
        "width": 40,
        "height": 30,
        "boxes": [[1, 1, 20, 20]],
        "scores": [0.5],
        "labels": ["dog"],
    }
    builders.write(folder / "detections.jsonl", json.dumps(row) + "\n" + json.dumps(row | {"image": "22_b.jpg"}) + "\n")


def _posts(folder: Path) -> None:
    builders.draw(folder, ["ann_@_1.png", "ann_@_2.png", "bob_@_3.png"])
    posts = {"ann": {"1": {"caption": "my dog 😀"}, "2": {"caption": "at sea"}}, "bob": {"3": {"caption": "a cat"}}}
    builders.write(folder / "insta-caption-train.json", json.dumps(posts))
    lines = [json.dumps({"image": "bob_@_3.png", "caption": text}) for text in TEXTS[:2]]
    builders.write(folder / "posts-test1.jsonl", "\n".join(lines) + "\n")


def _parts(folder: Path) -> None:
    part, squares = folder / "part0", []
    part.mkdir(parents=True)
    for place in range(IMAGES):
        stream = io.BytesIO()
        Image.new("RGB", (16, 16), (place * 50, 9, 9)).save(stream, "WEBP")
        squares.append(stream.getvalue())
    (part / "images.bin").write_bytes(b"".join(squares))
    np.save(part / "offsets.npy", np.cumsum([0, *map(len, squares)]))
    np.save(part / "ids.npy", np.arange(1, IMAGES + 1))
    captions = {str(place + 1): {"captions": list(TEXTS[:2]), "split": "train"} for place in range(IMAGES)}
    builders.write(folder / "captions.json", json.dumps(captions))


def _corpus(folder: Path) -> None:
    folder.mkdir(parents=True)
    with gzip.open(folder / "corpus.txt.gz", "wt") as stream:
        stream.write("\n".join(TEXTS * 3) + "\n")


def _values(row: int) -> np.ndarray:
    return np.random.default_rng(row).normal(size=(2, WIDTH)).astype(np.float32)


def _npz(folder: Path) -> None:
    folder.mkdir(parents=True)
    for row in range(IMAGES):
        boxes = np.full((2, 4), 0.5, np.float32)
        np.savez(folder / f"{row:03d}.npz", feat=_values(row), bbox=boxes, image_w=9, image_h=9)


def _npy(folder: Path) -> None:
    for name in ("bu_att", "bu_box"):
        (folder / name).mkdir(parents=True)
    for row in range(IMAGES):
        np.save(folder / "bu_att" / f"{row:03d}.npy", _values(row))
        np.save(folder / "bu_box" / f"{row:03d}.npy", np.full((2, 4), 0.5, np.float32))


def _bottom_up(folder: Path) -> None:
    lines = []
    for row in range(IMAGES):
        boxes = np.full((2, 4), 0.5, np.float32)
        arrays = (base64.b64encode(array.tobytes()).decode() for array in (boxes, _values(row)))
        lines.append("\t".join((f"{row:03d}", "9", "9", "2", *arrays)))
    builders.write(folder / "bu.tsv", "\n".join(lines) + "\n")


def _hdf5(folder: Path) -> None:
    import h5py

    folder.mkdir(parents=True)
    with h5py.File(folder / "bu.h5", "w") as file:
        for row in range(IMAGES):
            file[f"{row:03d}"] = _values(row)


def _precomp(folder: Path) -> None:
    (folder / "x_precomp").mkdir(parents=True)
    np.save(folder / "x_precomp" / "train_ims.npy", np.stack([_values(row)[0] for row in range(IMAGES)]))
    builders.write(folder / "x_precomp" / "train_caps.txt", "a dog\na cat\na ball\n")


def _imported(name: str) -> Callable[[Path, Path], None]:
    def read(folder: Path, out: Path) -> None:
        from tellapart.features.importers.importing import import_features

        pack = out / "pack" if "precomp" in name else drawn_pack(out, images=IMAGES).folder
        import_features(pack, folder / name, "bu")

    return read


def _scored(folder: Path) -> None:
    references = {"annotations": [{"image_id": place // 2, "caption": text} for place, text in enumerate(TEXTS[:4])]}
    builders.write(folder / "references.json", json.dumps(references))
    results = [{"image_id": place, "caption": TEXTS[place]} for place in range(2)]
    builders.write(folder / "candidates.json", json.dumps(results))
    builders.write(folder / "near.json", json.dumps({"0": [1], "1": [0]}))
    np.save(folder / "near.npy", np.eye(2, 3, dtype=np.float32))
    lines = [json.dumps({"image_id": place, "captions": list(TEXTS[:2])}) for place in range(2)]
    builders.write(folder / "references.jsonl", "\n".join(lines))
    builders.write(folder / "results.csv.token.txt", "\n".join(f"{place}.jpg#0\t{TEXTS[place]}" for place in range(2)))


def _score(folder: Path, out: Path) -> None:
    from tellapart.metrics.captions.compare import compare
    from tellapart.metrics.captions.files import read_captions

    for name in ("references.jsonl", "results.csv.token.txt"):
        read_captions(folder / name)
    for near in ("near.json", "near.npy"):
        compare([folder / "references.json"], {"a": folder / "candidates.json"}, ("BLEU-4", "CIDEr", "CIDErBtw"),
                neighbours=folder / near, look_alikes=1)  # fmt: skip


def _lists(folder: Path) -> None:
    builders.write(folder / "glove.txt", "2 3\ndog 0.1 0.2 0.3\ncat 1 2 3\nsea -1 0 1\n")
    builders.write(folder / "concepts.txt", "couch: sofa, settee\ndog: puppy\ncat\n")
    builders.write(folder / "vocabulary.json", json.dumps(["dog", "cat", "sea"]))
    np.save(folder / "targets.npy", np.ones((3, 4), np.float32))
    builders.write(folder / "recipe.json", "")


def _make_lists(folder: Path) -> None:
    from tellapart.core.files import write_json
    from tellapart.papers.recipes import find_recipe
    from tellapart.runs.registry import to_plain
    from tellapart.text.vocabulary import Vocabulary

    _lists(folder)
    Vocabulary.from_words(["dog", "cat", "sea"]).save(folder / "vocabulary.json")
    write_json(folder / "recipe.json", to_plain(find_recipe("vse++")))


def _read_lists(folder: Path, out: Path) -> None:
    from tellapart.papers.recipes import find_recipe
    from tellapart.text.concepts import ConceptDictionary
    from tellapart.text.sentence_targets import load_targets
    from tellapart.text.vocabulary import Vocabulary
    from tellapart.text.word_vectors import load_word_vectors

    vocabulary = Vocabulary.load(folder / "vocabulary.json")
    load_word_vectors(folder / "glove.txt", vocabulary)
    ConceptDictionary.read(folder / "concepts.txt")
    load_targets(folder / "targets.npy", 3)
    find_recipe(str(folder / "recipe.json"))


SOURCES: dict[str, DataSource] = {
    "csv": DataSource(_csv, prepare_all),
    "tsv": DataSource(_tsv, prepare_all),
    "jsonl": DataSource(_jsonl, prepare_all),
    "texts": DataSource(_texts, prepare_all),
    "coco": DataSource(_coco, prepare_all),
    "karpathy": DataSource(_karpathy, prepare_all),
    "flickr": DataSource(_flickr, prepare_all),
    "posts": DataSource(_posts, prepare_all),
    "parts": DataSource(_parts, prepare_all),
    "corpus": DataSource(_corpus, lambda folder, out: prepare_all(folder / "corpus.txt.gz", out, format="corpus")),
    "import-npz": DataSource(_npz, _imported(".")),
    "import-npy": DataSource(_npy, _imported("bu_att")),
    "import-tsv": DataSource(_bottom_up, _imported("bu.tsv")),
    "import-hdf5": DataSource(_hdf5, _imported("bu.h5")),
    "import-precomp": DataSource(_precomp, _imported("x_precomp")),
    "score": DataSource(_scored, _score),
    "lists": DataSource(_make_lists, _read_lists),
}
"""The files by name; images among them are not damaged here."""


def data_files(folder: Path) -> list[Path]:
    """The files of a source that are damaged."""
    drawn = (".png", ".webp", ".jpg")
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix not in drawn)


def copy_of(folder: Path, target: Path) -> Path:
    """A copy of a source."""
    return Path(shutil.copytree(folder, target))
