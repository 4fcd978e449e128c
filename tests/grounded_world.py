"""A small pack whose images have phrases with boxes and regions that may or may not cover them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from tellapart.core.files import save_array, write_json
from tellapart.data.annotate_objects import ObjectSettings, annotate_objects
from tellapart.data.batches import Batches
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption, PackImage, Phrase
from tellapart.data.write_pack import write_pack
from tellapart.models.inputs import ModelInputs
from tellapart.objectives.context import Context
from tellapart.text.vocabulary import Vocabulary

REGIONS = np.asarray([[0, 0, 0.5, 1], [0.5, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0.1, 0.1]], dtype=np.float32)
LEFT, RIGHT = (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)
WIDTH = 8


def grounded_pack(folder: Path) -> Pack:
    """8 images (4 train, 2 val, 2 test) of a dog on the left and men on the right; three captions each.

    The third caption has no noun and no phrase; the second has a phrase without a box ("park").
    """
    splits = ["train"] * 4 + ["val"] * 2 + ["test"] * 2
    images = [PackImage(str(i), "", split, 100, 50) for i, split in enumerate(splits)]
    captions, phrases = [], []
    for i, split in enumerate(splits):
        for text in ("a dog watches two men", "men see a dog in a park", "they run fast"):
            captions.append(Caption(i, text, tuple(text.split()), split))
        row = 3 * i
        phrases += [
            Phrase(row, 0, 2, (LEFT,)),
            Phrase(row, 3, 5, ((0.5, 0.0, 0.7, 1.0), (0.8, 0.0, 1.0, 1.0))),
            Phrase(row + 1, 0, 1, (RIGHT,)),
            Phrase(row + 1, 2, 4, (LEFT, (1.2, 1.2, 1.5, 1.5))),
            Phrase(row + 1, 5, 7, ()),
        ]
    words = sorted({word for caption in captions for word in caption.words})
    pack = write_pack(folder, "grounded", "", images, captions, Vocabulary.from_words(words), {}, phrases)
    nouns = [word in ("dog", "men", "park") for caption in captions for word in caption.words]
    pack.save_column("nouns", np.asarray(nouns), "token")
    annotate_objects(pack, ObjectSettings(least=2))
    random = np.random.default_rng(0)
    features = pack.feature_folder("regions")
    features.mkdir(parents=True)
    random.normal(0, 1, (len(images) * len(REGIONS), WIDTH)).astype(np.float16).tofile(features / "values.f16")
    save_array(features / "offsets.npy", np.arange(len(images) + 1) * len(REGIONS))
    save_array(features / "boxes.npy", np.tile(REGIONS, (len(images), 1)))
    write_json(features / "features.json", {"kind": "regions", "width": WIDTH})
    return Pack(pack.folder)


def grounded_context(folder: Path) -> Context:
    pack = grounded_pack(folder)
    store = FeatureStore(pack.feature_folder("regions"))
    inputs = ModelInputs(pack.vocabulary, store.width, len(REGIONS))
    return Context(pack, inputs, Batches(pack, store, ("nouns",)), store, torch.device("cpu"))
