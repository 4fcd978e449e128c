"""Two tiny packs, one of images and one of text, for tests of learning without pairs."""

from pathlib import Path

import numpy as np

from tellapart.core.files import save_array, write_json
from tellapart.data.pack import Pack
from tellapart.data.pack_types import NO_IMAGE, Caption, Detections, PackImage
from tellapart.data.write_pack import write_pack
from tellapart.text.vocabulary import Vocabulary

SENTENCES = (
    "a man rides a brown horse along the beach",
    "two dogs play with a red frisbee in the park",
    "a woman sits on a wooden bench beside her dog",
    "a cat sleeps on the couch next to a laptop",
    "the boy kicks a ball over the tall green fence",
    "a small boat floats on the calm blue lake today",
)
BOX = (0.0, 0.0, 1.0, 1.0)


def image_pack(folder: Path, features: bool = True) -> Pack:
    """Eight images: four to train on, two to validate, two to test; all captioned with words found nowhere
    else."""
    splits = ["train"] * 4 + ["val"] * 2 + ["test"] * 2
    images = [PackImage(f"p{row}", f"p{row}.jpg", split, 100, 80) for row, split in enumerate(splits)]
    captions = [
        Caption(row, f"Secret{row} caption.", (f"secret{row}", "caption", split), split)
        for row, split in enumerate(splits)
    ]
    found = [
        ("horse", "person"),
        ("dog", "frisbee"),
        ("bench", "dog"),
        ("cat", "wug"),
        ("boat",),
        (),
        ("person", "dog"),
        (),
    ]
    detections = [
        Detections(row, (BOX,) * len(labels), tuple(0.9 - 0.1 * n for n in range(len(labels))), labels)
        for row, labels in enumerate(found)
    ]
    words = sorted({word for caption in captions for word in caption.words})
    pack = write_pack(folder, "pictures", "", images, captions, Vocabulary.from_words(words), {}, detections=detections)
    if features:
        values = np.random.default_rng(0).standard_normal((8, 6)).astype(np.float16)
        target = pack.feature_folder("vectors")
        target.mkdir(parents=True)
        values.tofile(target / "values.f16")
        save_array(target / "offsets.npy", np.arange(9, dtype=np.int64))
        write_json(target / "features.json", {"kind": "vector", "width": 6})
    return pack


def corpus_pack(folder: Path, sentences: tuple[str, ...] = SENTENCES) -> Pack:
    captions = [Caption(NO_IMAGE, text, tuple(text.split()), "train") for text in sentences]
    words = sorted({word for caption in captions for word in caption.words})
    return write_pack(folder, "corpus", "", [], captions, Vocabulary.from_words(words), {})
