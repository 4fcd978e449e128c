"""Which rows go into which batch. The order depends only on seed, stage and epoch, so that training can resume."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.fields import renamed
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Split
from tellapart.data.views import Views

LATER = {"later": True}
"""Metadata of a field that recipes did not have at first: not stored while it has its default value."""


@dataclass(frozen=True)
class Sampling:
    """How an epoch is divided into batches."""

    batch: int = 128
    """Captions per batch; images per batch if `captions_each` is set."""
    captions_each: int | None = None
    """None: shuffle captions, each once per epoch. k: shuffle images, each with k of its captions."""
    split: str = "train"
    """The split to train on, or several joined by '+', such as train+restval."""
    what: str = field(default="pairs", metadata=renamed("what", {"images": "pictures"}))
    """pairs, texts (sentences without images), or images (without captions)."""
    columns: tuple[str, ...] = ()
    """Columns of the pack to include in batches."""
    longest: int | None = None
    """Cut captions to this many words."""
    drop_last: bool = True
    """Drop the last batch of an epoch if it is smaller than the others."""
    steps: int | None = None
    """Steps per epoch; None: one per batch of the data."""
    pixels: int = field(default=0, metadata=LATER)
    """Side in pixels of the square images in batches, for a model with its own backbone; 0: no pixels."""
    cut: float = field(default=1.0, metadata=LATER)
    """With pixels: smallest share of an image's area in the random crops of training; 1: the centre, no crops."""
    flip: bool = field(default=False, metadata=LATER)
    """Mirror half of the images, chosen separately for each batch. With features this needs NAME-flip in the pack
    (`tellapart extract --flip`). Captions that say left or right, and annotated boxes, are not mirrored."""

    squash: bool = field(default=False, metadata=LATER)
    """With pixels: whole images squashed to squares, from the pack's stored pixels where it has them, cropped and
    mirrored on the device. False: the middle of the image files."""
    swap: bool = field(default=False, metadata=LATER)
    """With pixels and squash: "left" and "right" change places in captions of mirrored images."""

    @property
    def views(self) -> Views:
        """How batches show the images."""
        return Views(self.pixels, self.cut, self.flip, self.squash, self.swap)


@dataclass(frozen=True)
class Draw:
    """The rows of one batch; `images` None means the images of the captions."""

    captions: np.ndarray
    images: np.ndarray | None = None
    seed: tuple[int, ...] | None = None
    """Seed of random mirroring and cropping."""


def split_rows(pack: Pack, names: str) -> Split:
    """Rows of a split, or of several joined by '+'."""
    parts = [pack.split(name) for name in names.split("+")]
    return Split(np.concatenate([p.images for p in parts]), np.concatenate([p.captions for p in parts]))


def captioned(pack: Pack, names: str) -> Split:
    """Images of a split that have captions, and those captions; an InputError if there are none."""
    rows = split_rows(pack, names)
    captions = rows.captions[pack.owner[rows.captions] >= 0]
    if not len(captions):
        raise InputError(
            f"The split '{names}' of {pack.folder} has no captioned image; choose another split, or prepare the "
            "pack with captions for it."
        )
    return Split(np.unique(pack.owner[captions]), captions)


DRAWN = {"pairs": "captioned images", "texts": "sentences without images", "images": "images"}


def rows_to_draw(pack: Pack, sampling: Sampling) -> np.ndarray:
    """The rows that an epoch draws: of captions, or of images; an InputError if there are none."""
    rows = split_rows(pack, sampling.split)
    unpaired = pack.owner[rows.captions] < 0
    if sampling.what == "images":
        found = rows.images
    elif sampling.what == "texts":
        found = rows.captions[unpaired]
    elif sampling.captions_each is None:
        found = rows.captions[~unpaired]
    else:
        found = np.asarray([p for p in rows.images if pack.captions_of[p]], dtype=np.int64)
    if not len(found):
        raise InputError(
            f"The split '{sampling.split}' of {pack.folder} has no {DRAWN[sampling.what]}, which this recipe needs "
            "there; choose another split, or another pack."
        )
    return found


def draw_epoch(pack: Pack, sampling: Sampling, seed: tuple[int, ...]) -> list[Draw]:
    """All batches of one epoch as rows of the pack; `seed` is (seed, stage, epoch)."""
    random = np.random.default_rng(list(seed))
    parts = _parts(random.permutation(rows_to_draw(pack, sampling)), sampling)
    draws = [_draw(pack, part, sampling, random) for part in parts]
    if sampling.views.random:
        draws = [replace(draw, seed=(*seed, index)) for index, draw in enumerate(draws)]
    if sampling.steps is None:
        return draws
    while len(draws) < sampling.steps:
        more = draw_epoch(pack, replace(sampling, steps=None), (*seed, len(draws)))
        draws = draws + more
    return draws[: sampling.steps]


def draw_few(pack: Pack, sampling: Sampling) -> Draw:
    """A batch of the first and the last row."""
    rows = rows_to_draw(pack, sampling)
    return _draw(pack, np.unique(rows[[0, -1]]), sampling, np.random.default_rng(0))


def _draw(pack: Pack, rows: np.ndarray, sampling: Sampling, random: np.random.Generator) -> Draw:
    if sampling.what == "images":
        return Draw(np.zeros(0, np.int64), rows)
    if sampling.what == "texts" or sampling.captions_each is None:
        return Draw(rows)
    return Draw(_some_captions(pack, rows, sampling.captions_each, random), rows)


def steps_per_epoch(pack: Pack, sampling: Sampling) -> int:
    """Number of batches of `draw_epoch`."""
    parts = _parts(rows_to_draw(pack, sampling), sampling)
    return len(parts) if sampling.steps is None else sampling.steps


def _parts(rows: np.ndarray, sampling: Sampling) -> list[np.ndarray]:
    size = min(sampling.batch, len(rows))
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    return parts[:-1] if sampling.drop_last and len(parts) > 1 and len(parts[-1]) < size else parts


def _some_captions(pack: Pack, images: np.ndarray, each: int, random: np.random.Generator) -> np.ndarray:
    chosen = []
    for image in images:
        own = pack.captions_of[image]
        if len(own) >= each:
            chosen.extend(random.permutation(own)[:each].tolist())
        else:
            chosen.extend(random.choice(own, each).tolist())
    return np.asarray(chosen, dtype=np.int64)


def share_of_rank(draw: Draw, owner: np.ndarray, rank: int, world: int) -> Draw:
    """One process's part of a global batch. No image is in two parts."""
    if world == 1:
        return draw
    if draw.images is not None:
        mine = np.array_split(draw.images, world)[rank]
        return Draw(draw.captions[np.isin(owner[draw.captions], mine)], mine, draw.seed)
    owners = owner[draw.captions]
    if len(owners) and owners.min() < 0:
        return Draw(np.array_split(draw.captions, world)[rank], seed=draw.seed)
    unique, first = np.unique(owners, return_index=True)
    mine = np.array_split(unique[np.argsort(first, kind="stable")], world)[rank]
    return Draw(draw.captions[np.isin(owners, mine)], seed=draw.seed)
