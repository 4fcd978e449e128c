"""The images and captions of a pack as tensors for end-to-end training."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import torch

from tellapart.core.errors import InputError
from tellapart.data.device_pixels import TOGETHER
from tellapart.data.pack import Pack
from tellapart.data.square_reader import SquareReader
from tellapart.features.extract import cores
from tellapart.images.preprocessing import Preprocessing
from tellapart.text.sides import swap_table
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.end_to_end.drawing import CaptionTable
from tellapart.training.end_to_end.pixels import LITE, PixelStore
from tellapart.training.end_to_end.words import piece_table, word_table

EACH = 5
"""Captions per image; an image with fewer repeats them."""


@dataclass(frozen=True)
class TrainingSet:
    """Images on the device, and their captions as words and as subwords."""

    store: PixelStore
    words: CaptionTable
    pieces: CaptionTable
    images: list[int]
    """The images' rows in the pack."""

    def rows(self) -> np.ndarray:
        """All rows."""
        return np.arange(len(self.store.pixels))


def read_training_set(
    pack: Pack,
    pieces: Vocabulary | None,
    side: int,
    device: torch.device,
    preprocessing: Preprocessing = LITE,
    split: str = "train",
) -> TrainingSet:
    """A split of a pack, its images squashed to squares of `side` pixels and read with a backbone's preprocessing.

    Without `pieces` the matcher reads whole words, as the captioner does.
    """
    images = [int(row) for row in pack.split(split).images if pack.captions_of[int(row)]]
    if len(images) < 2:
        raise InputError(f"{pack.folder} has fewer than two captioned {split} images; end-to-end training needs more.")
    captions = [
        pack.captions[row]
        for image in images
        for row in itertools.islice(itertools.cycle(pack.captions_of[image]), EACH)
    ]
    words = word_table([caption.words for caption in captions], pack.vocabulary)
    table = _table(words, pack.vocabulary, device)
    pixels = PixelStore(len(images), side, device, preprocessing)
    _fill(pixels, pack, images, side)
    if pieces is None:
        return TrainingSet(pixels, table, table, images)
    return TrainingSet(pixels, table, _table(piece_table([c.text for c in captions], pieces), pieces, device), images)


def _table(ids: np.ndarray, vocabulary: Vocabulary, device: torch.device) -> CaptionTable:
    tokens = torch.from_numpy(ids.astype(np.int32)).view(-1, EACH, ids.shape[1])
    return CaptionTable(tokens.to(device), torch.from_numpy(swap_table(vocabulary)).to(device))


def _fill(store: PixelStore, pack: Pack, images: list[int], side: int) -> None:
    """Decode all images: in processes where a GPU waits for them, since threads get in each other's way."""
    reader = SquareReader(pack, side, processes=cores() if store.pixels.device.type == "cuda" else 0)
    together = max(1, TOGETHER // (side * side * 3))
    try:
        for first in range(0, len(images), together):
            some = np.asarray(images[first : first + together])
            store.fill(np.arange(first, first + len(some)), reader.read(some))
    finally:
        reader.close()
