"""From rows of a pack to batches of tensors: gathered, padded, and made ahead in a background thread.

Nothing is loaded whole unless asked: features are read row by row from the memory map. With `resident=True` the feature
rows live on the device (a GPU that has the room), and a batch is an index into them.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from tellapart.data.pack import Column, Pack
from tellapart.errors import InputError
from tellapart.text.vocabulary import END, PAD, START
from tellapart.types import Batch, Images, Texts
from tellapart.vision.store import FeatureStore

Made = TypeVar("Made")


class Batches:
    """Makes `Images`, `Texts` and `Batch`es from rows of a pack.

    columns: names of pack columns to bring along (noun masks, sentence targets, concepts).
    longest: sentences are cut to this many words; None keeps them whole.
    """

    def __init__(
        self,
        pack: Pack,
        store: FeatureStore | None,
        columns: Sequence[str] = (),
        device: torch.device | str = "cpu",
        longest: int | None = None,
        resident: bool = False,
    ) -> None:
        self.pack, self.store, self.longest = pack, store, longest
        self.device = torch.device(device)
        if store is not None and len(store) != len(pack.pictures):
            raise InputError(
                f"Features {store.folder} are for {len(store)} pictures, but {pack.folder} has {len(pack.pictures)}; "
                "run `tellapart extract` on this pack."
            )
        self.columns: dict[str, Column] = {name: pack.column(name) for name in columns}
        self.table = torch.from_numpy(np.array(store.values)).to(self.device) if store and resident else None

    def images(self, rows: np.ndarray) -> Images:
        """Pictures at these rows of the pack, on the device."""
        columns = {name: self._tensor(c.values[rows]) for name, c in self.columns.items() if c.per == "picture"}
        if self.store is None:
            empty = torch.zeros(len(rows), 1, 0, device=self.device)
            return Images(empty, torch.ones(len(rows), 1, dtype=torch.bool, device=self.device), columns=columns)
        where, mask = self.store.gather(rows)  # [I, R], [I, R]
        if self.table is not None:
            features = self.table[torch.from_numpy(where).to(self.device)].float()
        else:
            features = self._tensor(self.store.values[where]).float()
        kept = self._tensor(mask)
        if not mask.all():
            features = features * kept.unsqueeze(-1)
        boxes = None if self.store.boxes is None else self._tensor(np.asarray(self.store.boxes[where], np.float32))
        return Images(features, kept, boxes, columns=columns)

    def texts(self, rows: np.ndarray) -> Texts:
        """Sentences at these rows of the pack, between START and END and padded, on the device."""
        first, last = self.pack.offsets[rows], self.pack.offsets[rows + 1]
        if self.longest is not None:
            last = np.minimum(last, first + self.longest)
        counts = last - first
        steps = np.arange(counts.max(initial=0))
        inside = steps[None, :] < counts[:, None]  # [C, n]
        where = np.where(inside, first[:, None] + steps[None, :], 0)
        tokens = np.full((len(rows), len(steps) + 2), PAD, dtype=np.int64)
        tokens[:, 0] = START
        if where.size:
            tokens[:, 1:-1] = np.where(inside, self.pack.tokens[where], PAD)
        tokens[np.arange(len(rows)), counts + 1] = END
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

    def batch(self, captions: np.ndarray) -> Batch:
        """These sentences and their pictures, each picture once, in the order they first appear."""
        owners = self.pack.owner[captions]
        if len(owners) and owners.min() < 0:
            return self.unpaired(captions)
        unique, first, inverse = np.unique(owners, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return self._join(unique[order], captions, rank[inverse.reshape(-1)])

    def pictures_and_captions(self, pictures: np.ndarray, captions: np.ndarray | None = None) -> Batch:
        """These pictures with all their sentences, or with the given ones."""
        if captions is None:
            captions = np.asarray([c for p in pictures for c in self.pack.captions_of[p]], dtype=np.int64)
        rank = {int(picture): row for row, picture in enumerate(pictures)}
        owner = np.asarray([rank[int(p)] for p in self.pack.owner[captions]], dtype=np.int64)
        return self._join(pictures, captions, owner)

    def unpaired(self, captions: np.ndarray) -> Batch:
        """Sentences alone."""
        return self._join(np.zeros(0, dtype=np.int64), captions, np.full(len(captions), -1))

    def _join(self, pictures: np.ndarray, captions: np.ndarray, owner: np.ndarray) -> Batch:
        return Batch(
            self.images(pictures),
            self.texts(captions),
            self._tensor(np.asarray(owner, dtype=np.int64)),
            self._tensor(pictures),
            self._tensor(captions),
        )

    def _tensor(self, array: np.ndarray) -> Tensor:
        tensor = torch.from_numpy(np.array(array))
        return tensor if self.device.type == "cpu" else tensor.pin_memory().to(self.device, non_blocking=True)


def made_ahead(jobs: Sequence[Callable[[], Made]], ahead: int = 4) -> Iterator[Made]:
    """Run the jobs in order in a background thread, at most `ahead` results waiting; errors surface here."""
    results: queue.Queue[tuple[Made | None, BaseException | None]] = queue.Queue(maxsize=ahead)
    stop = threading.Event()

    def put(item: tuple[Made | None, BaseException | None]) -> bool:
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
                item: tuple[Made | None, BaseException | None] = (job(), None)
            except Exception as error:
                item = (None, error)
            if not put(item) or item[1] is not None:
                return

    thread = threading.Thread(target=work, daemon=True, name="batches")
    thread.start()
    try:
        for _ in jobs:
            made, error = results.get()
            if error is not None:
                raise error
            yield made  # type: ignore[misc]
    finally:
        stop.set()
        thread.join()
