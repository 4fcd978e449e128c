"""Batches from tables on a device: the host only sends row numbers, in one copy.

Features, boxes, captions and columns stay on the device, padded where they differ in length, so that a batch is an
index into them. Making a batch on the host and copying its parts takes longer than a small model's training step.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from tellapart.core.types import Batch, Images, Texts
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Column
from tellapart.text.vocabulary import END, PAD, START


class ResidentTexts:
    """All captions of a pack on a device.

    longest: captions are cut to this many words.
    width_multiple: batches are padded to a multiple of this many tokens.
    """

    def __init__(
        self,
        pack: Pack,
        columns: Mapping[str, Column],
        device: torch.device,
        longest: int | None = None,
        width_multiple: int = 1,
    ) -> None:
        words = np.diff(pack.offsets)
        self.words = words if longest is None else np.minimum(words, longest)  # [C], on the host
        self.width_multiple = width_multiple
        self.counts = torch.from_numpy(self.words + 2).to(device)  # [C] with START and END
        tokens = self._padded(pack.tokens, pack.offsets, np.dtype(np.int32), PAD)
        tokens[:, 0] = START
        tokens[np.arange(len(tokens)), self.words + 1] = END
        self.tokens = torch.from_numpy(tokens).to(device)  # [C, T]
        self.columns = {
            name: torch.from_numpy(self._table(column, pack.offsets)).to(device)
            for name, column in columns.items()
            if column.per != "image"
        }
        self.per_token = {name for name, column in columns.items() if column.per == "token"}

    def read(self, rows: np.ndarray, index: Tensor) -> Texts:
        """The captions at these rows; `index` is the same on the device."""
        width = self._width(int(self.words[rows].max(initial=0)))
        columns = {
            name: table[index, :width] if name in self.per_token else table[index]
            for name, table in self.columns.items()
        }
        return Texts(self.tokens[index, :width].long(), self.counts[index], columns)

    def _width(self, longest: int) -> int:
        return longest + 2 + -(longest + 2) % self.width_multiple

    def _table(self, column: Column, offsets: np.ndarray) -> np.ndarray:
        if column.per == "caption":
            return np.array(column.values)
        return self._padded(column.values, offsets, column.values.dtype, 0)

    def _padded(self, values: np.ndarray, offsets: np.ndarray, kind: np.dtype, padding: int) -> np.ndarray:
        """Values of words in one row per caption [C, T], aligned with tokens."""
        table = np.full((len(self.words), self._width(int(self.words.max(initial=0)))), padding, kind)
        captions = np.repeat(np.arange(len(self.words)), self.words)
        places = np.arange(len(captions)) - np.repeat(np.cumsum(self.words) - self.words, self.words)
        table[captions, places + 1] = values[offsets[:-1][captions] + places]
        return table


class ResidentImages:
    """Where the feature rows of each image are in a table on the device, and the images' boxes and columns.

    table: all feature rows [rows, D] on the device; None without features.
    """

    def __init__(
        self, store: FeatureStore | None, table: Tensor | None, columns: Mapping[str, Column], device: torch.device
    ) -> None:
        self.store, self.table, self.device = store, table, device
        self.boxes: Tensor | None = None
        self.columns = {
            name: torch.from_numpy(np.array(column.values)).to(device)
            for name, column in columns.items()
            if column.per == "image"
        }
        if store is not None:
            self.counts = np.diff(store.offsets)  # [I], on the host
            self.first = torch.from_numpy(np.array(store.offsets[:-1])).to(device)  # [I]
            self.rows = torch.from_numpy(self.counts).to(device)  # [I]
            if store.boxes is not None:
                self.boxes = torch.from_numpy(np.array(store.boxes, np.float32)).to(device)

    def read(self, rows: np.ndarray, index: Tensor) -> Images:
        """The images at these rows; `index` is the same on the device."""
        columns = {name: table[index] for name, table in self.columns.items()}
        if self.store is None or self.table is None:
            empty = torch.zeros(len(rows), 1, 0, device=self.device)
            mask = torch.ones(len(rows), 1, dtype=torch.bool, device=self.device)
            return Images(empty, mask, columns=columns)
        counts = self.counts[rows]
        if len(counts) and counts.min() == 0:
            self.store.gather(rows)  # raises the error that names the image
        most = int(counts.max(initial=0))
        steps = torch.arange(most, device=self.device)
        mask = steps < self.rows[index].unsqueeze(1)  # [I, R]
        where = torch.where(mask, self.first[index].unsqueeze(1) + steps, 0)
        features = self.table[where].float()
        if (counts != most).any():
            features = features * mask.unsqueeze(-1)
        return Images(features, mask, None if self.boxes is None else self.boxes[where], columns=columns)


class ResidentBatches:
    """Batches of images and captions that stay on a device."""

    def __init__(self, images: ResidentImages, texts: ResidentTexts, device: torch.device) -> None:
        self.images, self.texts, self.device = images, texts, device

    def batch(self, images: np.ndarray, captions: np.ndarray, owner: np.ndarray) -> Batch:
        """These images and captions; caption j describes image owner[j] of the batch."""
        together = torch.from_numpy(np.concatenate([images, captions, owner]).astype(np.int64))
        if self.device.type != "cpu":
            together = together.pin_memory().to(self.device, non_blocking=True)
        image_rows, caption_rows, owners = torch.split(together, [len(images), len(captions), len(owner)])
        return Batch(
            self.images.read(images, image_rows),
            self.texts.read(captions, caption_rows),
            owners,
            image_rows,
            caption_rows,
        )
