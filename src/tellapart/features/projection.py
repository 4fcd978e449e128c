"""Features made small enough to travel: a linear map that keeps what words can be read from, and four bits a number.

A grid of 49 cells with 1,280 channels takes 125 kB an image, and a hundred thousand images too much for most links
and memories. Reduced-rank regression finds the few directions of feature space that predict which words people use of
an image; a row becomes its coordinates there. What learns on such rows begins with a linear layer, and
`tellapart.training.fold` writes the map into that layer afterwards, so that the run reads whole features again.
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
"""Coordinates are coded up to so many standard deviations either way."""


@dataclass(frozen=True)
class Projection:
    """z = (x - mean) basis / scale."""

    mean: Tensor  # [D]
    basis: Tensor  # [D, K], columns of length one at right angles
    scale: Tensor  # [K] standard deviations, so that coordinates have variance one

    def __call__(self, rows: Tensor) -> Tensor:
        return (rows - self.mean) @ (self.basis / self.scale)  # [..., K]

    def save(self, path: Path) -> None:
        with atomic_path(path) as partial:
            save_file({name: value.contiguous() for name, value in vars(self).items()}, partial)

    @classmethod
    def load(cls, path: Path) -> Projection:
        return cls(**load_file(path))


def fit_projection(vectors: Tensor, words: Tensor, cells: Tensor, width: int, ridge: float = 1.0) -> Projection:
    """The `width` directions that linear predictions of words vary along most.

    vectors: a row an image [P, D]. words: 1 where a word is said of an image [P, V]. cells: rows to be coded [N, D],
    whose mean and spread the coordinates are measured by.
    """
    centred = vectors - vectors.mean(0)
    spread = words.std(0).clamp(min=1e-6)
    gram = centred.t() @ centred  # [D, D]
    damped = gram + ridge * gram.diag().mean() * torch.eye(len(gram))
    weights = torch.linalg.solve(damped, centred.t() @ ((words - words.mean(0)) / spread))  # [D, V]
    predicted = weights.t() @ gram @ weights  # [V, V]: how predictions vary together
    _, directions = torch.linalg.eigh(predicted)
    inside, _ = torch.linalg.qr(weights @ directions[:, -width:])  # [D, K]
    mean = cells.mean(0)
    seen = (cells - mean) @ inside  # [N, K]
    # Turned so that coordinates are uncorrelated: each is coded by itself.
    variances, turn = torch.linalg.eigh(seen.t() @ seen / max(len(seen), 1))
    return Projection(mean, inside @ turn.flip(1), variances.flip(0).clamp(min=1e-12).sqrt())


def words_said(pack: Pack, images: np.ndarray, least: int, most: float = 0.5) -> Tensor:
    """[P, V]: what is said of each image, in words that at least `least` and at most a share `most` of them have."""
    row = np.full(len(pack.images), -1)
    row[images] = np.arange(len(images))
    counts = np.diff(pack.offsets)
    owner = np.repeat(pack.owner, counts)  # [tokens]
    inside = (owner >= 0) & (row[owner] >= 0)
    said = torch.zeros(len(images), len(pack.vocabulary))
    said[torch.from_numpy(row[owner[inside]]), torch.from_numpy(np.asarray(pack.tokens)[inside].astype(np.int64))] = 1
    total = said.sum(0)
    return said[:, (total >= least) & (total <= most * len(images))]


def to_codes(coordinates: Tensor) -> np.ndarray:
    """[N, K] with K even to bytes [N, K / 2]: two numbers of sixteen levels each."""
    levels = ((coordinates / REACH + 1) / 2 * (LEVELS - 1)).round().clamp(0, LEVELS - 1).to(torch.uint8)
    return (levels[:, ::2] * LEVELS + levels[:, 1::2]).numpy()


def from_codes(codes: np.ndarray) -> Tensor:
    """Bytes [N, K / 2] back to coordinates [N, K]."""
    pairs = torch.from_numpy(codes)
    levels = torch.stack([pairs // LEVELS, pairs % LEVELS], -1).flatten(1)
    return (levels.float() / (LEVELS - 1) * 2 - 1) * REACH


def coded(values: np.ndarray, projection: Projection, rows: int = 65536) -> Iterator[np.ndarray]:
    """Codes of a store's rows [rows, D], some at a time."""
    for start in range(0, len(values), rows):
        yield to_codes(projection(torch.from_numpy(values[start : start + rows].astype(np.float32))))
