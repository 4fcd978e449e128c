"""From rows of a pack to batches of tensors: gathered, padded, and prefetched in a background thread.

Features are read row by row from the memory map. With `resident=True` all feature rows and captions stay on the device
(a GPU with enough memory), and a batch is an index into them (`data/resident_batches.py`).
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError, Step
from tellapart.core.types import Batch, Images, Texts
from tellapart.data.device_pixels import DevicePixels
from tellapart.data.feature_store import FeatureStore, mirror_of
from tellapart.data.own_images import OwnImages
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Column
from tellapart.data.resident_batches import ResidentBatches, ResidentImages, ResidentTexts
from tellapart.data.resident_features import resident_features
from tellapart.data.squares import stored_side
from tellapart.data.views import UNCHANGED, PixelReader, Views, sample_views, uniform_numbers
from tellapart.images.crops import CROP_NUMBERS, Crops, crop_squares
from tellapart.text.sides import swap_table
from tellapart.text.vocabulary import END, PAD, START

Result = TypeVar("Result")


class Batches:
    """Makes `Images`, `Texts` and `Batch`es from rows of a pack.

    columns: names of pack columns to include (noun masks, sentence targets, concepts).
    longest: captions are cut to this many words; None keeps them whole.
    views: whether batches have pixels, and whether batches with a seed mirror and crop images at random.
    width_multiple: captions are padded to a multiple of this many tokens.
    squares: where batches take squashed images from (`views.squash`); default: read for each batch.
    own: reads images that are not squashed, with the processor of the model.
    """

    def __init__(
        self,
        pack: Pack,
        store: FeatureStore | None,
        columns: Sequence[str] = (),
        device: torch.device | str = "cpu",
        longest: int | None = None,
        resident: bool = False,
        views: Views = UNCHANGED,
        width_multiple: int = 1,
        squares: DevicePixels | None = None,
        own: OwnImages | None = None,
    ) -> None:
        self.pack, self.store, self.longest, self.width_multiple = pack, store, longest, width_multiple
        self.device = torch.device(device)
        if store is not None and len(store) != len(pack.images):
            raise InputError(
                f"Features {store.folder} are for {len(store)} images, but {pack.folder} has {len(pack.images)}; "
                "extract the features of this pack.",
                Step("extract", pack.folder),
            )
        self.columns: dict[str, Column] = {name: pack.column(name) for name in columns}
        self.views = views
        self.own = own if views.pixels and not views.squash else None
        self.reader = PixelReader(pack, views) if views.pixels and not views.squash and own is None else None
        self.squares = squares
        if views.pixels and views.squash and squares is None:
            self.squares = DevicePixels(pack, stored_side(pack) or views.pixels, self.device, keep=False)
        self.swap = swap_table(pack.vocabulary) if views.swap else None
        self.mirror = mirror_of(store) if store is not None and views.flip else None
        self.table = resident_features(store, self.device) if store and resident else None
        self.mirror_table = resident_features(self.mirror, self.device) if self.mirror and resident else None
        self.resident = self._resident() if resident and not (views.pixels or views.flip) else None

    def _resident(self) -> ResidentBatches:
        texts = ResidentTexts(self.pack, self.columns, self.device, self.longest, self.width_multiple)
        return ResidentBatches(ResidentImages(self.store, self.table, self.columns, self.device), texts, self.device)

    def images(self, rows: np.ndarray, seed: tuple[int, ...] | None = None) -> Images:
        """Images at these rows of the pack, on the device; with a seed, mirrored and cropped as in training."""
        columns = {name: self._tensor(c.values[rows]) for name, c in self.columns.items() if c.per == "image"}
        squashed = self.views.pixels > 0 and self.views.squash
        seen = [] if squashed else sample_views(self.views, rows, seed)
        pixels = None
        if self.own is not None:
            columns |= {name: value.to(self.device) for name, value in self.own.read(rows, seen).items()}
        elif self.reader is not None:
            pixels = self._tensor(self.reader.read(rows, seen).numpy())
        elif squashed and self.squares is not None:
            pixels = crop_squares(self.squares.read(rows), self.views.pixels, self._crops(rows, seed))
        if self.store is None:
            empty = torch.zeros(len(rows), 1, 0, device=self.device)
            mask = torch.ones(len(rows), 1, dtype=torch.bool, device=self.device)
            return Images(empty, mask, pixels=pixels, columns=columns)
        where, inside = self.store.gather(rows)  # [I, R], [I, R]
        mirrored = np.flatnonzero([view.mirrored for view in seen])
        features = self._features(self.store, self.table, where)
        boxes = None if self.store.boxes is None else np.asarray(self.store.boxes[where], np.float32)
        if self.mirror is not None and len(mirrored):
            swapped = self._features(self.mirror, self.mirror_table, where[mirrored])
            features = features.index_copy(0, self._tensor(mirrored), swapped)
            if boxes is not None and self.mirror.boxes is not None:
                boxes[mirrored] = self.mirror.boxes[where[mirrored]]
        kept = self._tensor(inside)
        if not inside.all():
            features = features * kept.unsqueeze(-1)
        return Images(features, kept, None if boxes is None else self._tensor(boxes), pixels, columns)

    def _features(self, store: FeatureStore, table: Tensor | None, where: np.ndarray) -> Tensor:
        if table is not None:
            return table[torch.from_numpy(where).to(self.device)].float()
        return self._tensor(store.values[where]).float()

    def _crops(self, rows: np.ndarray, seed: tuple[int, ...] | None) -> Crops | None:
        """The crops of squashed images in the batch with this seed; None: whole images."""
        if seed is None or not self.views.random:
            return None
        numbers = torch.from_numpy(uniform_numbers(seed, rows, CROP_NUMBERS).astype(np.float32))
        crops = Crops.drawn(numbers, self.views.cut, self.views.flip)
        return Crops(*(self._tensor(part.numpy()) for part in (crops.centre, crops.extent, crops.flipped)))

    def _mirrored(self, rows: np.ndarray, seed: tuple[int, ...] | None) -> np.ndarray | None:
        """[I] bool: the images whose captions swap sides in the batch with this seed; None: none."""
        if self.swap is None or seed is None or not (self.views.flip and self.views.squash):
            return None
        return uniform_numbers(seed, rows, CROP_NUMBERS)[:, -1].astype(np.float32) < 0.5

    def texts(self, rows: np.ndarray, mirrored: np.ndarray | None = None) -> Texts:
        """Captions at these rows of the pack, with START and END and padded, on the device.

        mirrored: [C] bool, captions in which "left" and "right" change places.
        """
        first, last = self.pack.offsets[rows], self.pack.offsets[rows + 1]
        if self.longest is not None:
            last = np.minimum(last, first + self.longest)
        counts = last - first
        longest = counts.max(initial=0)
        steps = np.arange(longest + -(longest + 2) % self.width_multiple)
        inside = steps[None, :] < counts[:, None]  # [C, n]
        where = np.where(inside, first[:, None] + steps[None, :], 0)
        tokens = np.full((len(rows), len(steps) + 2), PAD, dtype=np.int64)
        tokens[:, 0] = START
        if where.size:
            tokens[:, 1:-1] = np.where(inside, self.pack.tokens[where], PAD)
        tokens[np.arange(len(rows)), counts + 1] = END
        if mirrored is not None and self.swap is not None:
            tokens = np.where(mirrored[:, None], self.swap[tokens], tokens)
        columns = {}
        for name, column in self.columns.items():
            if column.per == "caption":
                columns[name] = self._tensor(column.values[rows])
            elif column.per == "token":
                aligned = np.zeros(tokens.shape, dtype=column.values.dtype)
                if where.size:
                    aligned[:, 1:-1] = np.where(inside, column.values[where], 0)
                columns[name] = self._tensor(aligned)
        return Texts(self._tensor(tokens), self._tensor(counts + 2), columns)

    def batch(self, captions: np.ndarray, seed: tuple[int, ...] | None = None) -> Batch:
        """These captions and their images, each image once, in order of first appearance."""
        owners = self.pack.owner[captions]
        if len(owners) and owners.min() < 0:
            return self.unpaired(captions)
        unique, first, inverse = np.unique(owners, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return self._batch(unique[order], captions, rank[inverse.reshape(-1)], seed)

    def images_and_captions(
        self, images: np.ndarray, captions: np.ndarray | None = None, seed: tuple[int, ...] | None = None
    ) -> Batch:
        """These images with all their captions, or with the given ones."""
        if captions is None:
            captions = np.asarray([c for p in images for c in self.pack.captions_of[p]], dtype=np.int64)
        rank = {int(image): row for row, image in enumerate(images)}
        owner = np.asarray([rank[int(p)] for p in self.pack.owner[captions]], dtype=np.int64)
        return self._batch(images, captions, owner, seed)

    def unpaired(self, captions: np.ndarray) -> Batch:
        """Sentences without images."""
        return self._batch(np.zeros(0, dtype=np.int64), captions, np.full(len(captions), -1), None)

    def _batch(
        self, images: np.ndarray, captions: np.ndarray, owner: np.ndarray, seed: tuple[int, ...] | None
    ) -> Batch:
        if self.resident is not None:
            return self.resident.batch(images, captions, owner)
        mirrored = self._mirrored(images, seed)
        return Batch(
            self.images(images, seed),
            self.texts(captions, None if mirrored is None else mirrored[np.asarray(owner, dtype=np.int64)]),
            self._tensor(np.asarray(owner, dtype=np.int64)),
            self._tensor(images),
            self._tensor(captions),
        )

    def _tensor(self, array: np.ndarray) -> Tensor:
        tensor = torch.from_numpy(np.array(array))
        return tensor if self.device.type == "cpu" else tensor.pin_memory().to(self.device, non_blocking=True)


def background_results(jobs: Sequence[Callable[[], Result]], ahead: int = 4) -> Iterator[Result]:
    """Results of the jobs, run in order in a background thread at most `ahead` ahead; their errors are raised here."""
    results: queue.Queue[tuple[Result | None, BaseException | None]] = queue.Queue(maxsize=ahead)
    stop = threading.Event()

    def put(item: tuple[Result | None, BaseException | None]) -> bool:
        while not stop.is_set():
            try:
                results.put(item, timeout=0.2)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        for job in jobs:
            try:
                item: tuple[Result | None, BaseException | None] = (job(), None)
            except Exception as error:
                item = (None, error)
            if not put(item) or item[1] is not None:
                return

    thread = threading.Thread(target=work, daemon=True, name="batches")
    thread.start()
    try:
        for _ in jobs:
            result, error = results.get()
            if error is not None:
                raise error
            yield result  # type: ignore[misc]
    finally:
        stop.set()
        thread.join()
