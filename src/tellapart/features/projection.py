"""Compressing features: a linear projection that keeps what predicts words, and four bits per number.

A grid of 49 cells with 1,280 channels takes 125 kB per image, too much for the memory of most machines at a hundred
thousand images. Reduced-rank regression finds the few directions of feature space that predict the words of an image's
captions; a row becomes its coordinates there. A model that trains on such rows begins with a linear layer;
`tellapart.training.fold` merges the projection into that layer afterwards, so that the run reads whole features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tellapart.core.files import atomic_path
from tellapart.data.pack import Pack

LEVELS = 16
REACH = 3.5
"""Coordinates are coded up to this many standard deviations from zero."""


@dataclass(frozen=True)
class Projection:
    """z = (x - mean) basis / scale."""

    mean: Tensor  # [D]
    basis: Tensor  # [D, K], orthonormal columns
    scale: Tensor  # [K] standard deviations; coordinates have variance one

    def __call__(self, rows: Tensor) -> Tensor:
        return (rows - self.mean) @ (self.basis / self.scale)  # [..., K]

    def save(self, path: Path) -> None:
        """Write the projection as safetensors."""
        with atomic_path(path) as partial:
            save_file({name: value.contiguous() for name, value in vars(self).items()}, partial)

    @classmethod
    def load(cls, path: Path) -> Projection:
        """The projection that `save` wrote."""
        return cls(**load_file(path))


def fit_projection(vectors: Tensor, words: Tensor, cells: Tensor, width: int, ridge: float = 1.0) -> Projection:
    """The `width` directions along which linear predictions of words vary most.

    vectors: one row per image [P, D]. words: 1 if a caption of the image has the word [P, V]. cells: the rows to
    code [N, D], whose mean and standard deviation scale the coordinates.
    """
    centred = vectors - vectors.mean(0)
    spread = words.std(0).clamp(min=1e-6)
    gram = centred.t() @ centred  # [D, D]
    damped = gram + ridge * gram.diag().mean() * torch.eye(len(gram))
    weights = torch.linalg.solve(damped, centred.t() @ ((words - words.mean(0)) / spread))  # [D, V]
    predicted = weights.t() @ gram @ weights  # [V, V] covariance of the predictions
    _, directions = torch.linalg.eigh(predicted)
    inside, _ = torch.linalg.qr(weights @ directions[:, -width:])  # [D, K]
    mean = cells.mean(0)
    seen = (cells - mean) @ inside  # [N, K]
    # Rotate so that coordinates are uncorrelated, since each is coded separately.
    variances, turn = torch.linalg.eigh(seen.t() @ seen / max(len(seen), 1))
    return Projection(mean, inside @ turn.flip(1), variances.flip(0).clamp(min=1e-12).sqrt())


def words_of_images(pack: Pack, images: np.ndarray, least: int, most: float = 0.5) -> Tensor:
    """[P, V]: 1 if a caption has the word, for words of at least `least` and at most a share `most` of images."""
    row = np.full(len(pack.images), -1)
    row[images] = np.arange(len(images))
    counts = np.diff(pack.offsets)
    owner = np.repeat(pack.owner, counts)  # [tokens]
    inside = (owner >= 0) & (row[owner] >= 0)
    present = torch.zeros(len(images), len(pack.vocabulary))
    present[
        torch.from_numpy(row[owner[inside]]), torch.from_numpy(np.asarray(pack.tokens)[inside].astype(np.int64))
    ] = 1
    total = present.sum(0)
    return present[:, (total >= least) & (total <= most * len(images))]


def to_codes(coordinates: Tensor) -> np.ndarray:
    """Bytes [N, K / 2] of coordinates [N, K], K even: two numbers of sixteen levels per byte."""
    levels = ((coordinates / REACH + 1) / 2 * (LEVELS - 1)).round().clamp(0, LEVELS - 1).to(torch.uint8)
    return (levels[:, ::2] * LEVELS + levels[:, 1::2]).numpy()


def from_codes(codes: np.ndarray) -> Tensor:
    """Coordinates [N, K] of bytes [N, K / 2]."""
    pairs = torch.from_numpy(codes)
    levels = torch.stack([pairs // LEVELS, pairs % LEVELS], -1).flatten(1)
    return (levels.float() / (LEVELS - 1) * 2 - 1) * REACH


def coded(values: np.ndarray, projection: Projection, rows: int = 65536) -> Iterator[np.ndarray]:
    """Codes of the rows of a store, in parts of `rows` rows."""
    for start in range(0, len(values), rows):
        yield to_codes(projection(torch.from_numpy(values[start : start + rows].astype(np.float32))))
