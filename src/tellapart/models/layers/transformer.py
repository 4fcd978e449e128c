"""Transformer encoders over rows with masks: over regions with their boxes, over words, or shared between the two."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from tellapart.text.vocabulary import PAD

SMALL = 0.02
"""Initial standard deviation of word vectors, as in BERT."""


class TransformerStack(nn.Module):
    """A post-norm transformer encoder, as in TERN."""

    def __init__(self, width: int, layers: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, heads, hidden, dropout, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        """rows [N, L, D], mask [N, L] -> [N, L, D]."""
        result: Tensor = self.layers(rows, src_key_padding_mask=~mask)
        return result


class RegionTransformer(nn.Module):
    """TERN's image side: a zero vector as I-CLS in row 0, region features joined with box and area, self-attention.

    Boxes are fractions of the image, and zeros for an image without boxes.
    """

    def __init__(self, inputs: int, width: int, layers: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.project = nn.Sequential(nn.Linear(inputs + 5, width), nn.ReLU(), nn.Linear(width, width))
        self.stack = TransformerStack(width, layers, heads, hidden, dropout)

    def forward(self, features: Tensor, boxes: Tensor | None, mask: Tensor) -> tuple[Tensor, Tensor]:
        """features [I, R, D], boxes [I, R, 4], mask [I, R] -> rows [I, 1 + R, W] with I-CLS first, and their mask."""
        if boxes is None:
            boxes = features.new_zeros(*features.shape[:2], 4)
        area = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])  # [I, R]
        rows = torch.cat([features, boxes.to(features.dtype), area.unsqueeze(-1).to(features.dtype)], dim=-1)
        rows = torch.cat([rows.new_zeros(len(rows), 1, rows.shape[2]), rows], dim=1)  # I-CLS
        mask = torch.cat([mask.new_ones(len(mask), 1), mask], dim=1)
        return self.stack(self.project(rows), mask), mask


class WordTransformer(nn.Module):
    """A small BERT, trained from scratch: word and position vectors, then self-attention. START is its CLS.

    Position vectors are scaled to the initial size of word vectors: unscaled they are thirty times as large, and the
    layer norm would suppress the words.
    """

    def __init__(self, words: int, width: int, layers: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=PAD)
        nn.init.normal_(self.words.weight, std=SMALL)
        with torch.no_grad():
            self.words.weight[PAD] = 0
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)
        self.stack = TransformerStack(width, layers, heads, hidden, dropout)
        self.width = width

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """tokens [C, T], mask [C, T] -> states [C, T, W]."""
        places = positions(tokens.shape[1], self.width, tokens.device)  # [T, W]
        rows = self.words(tokens) + SMALL * places  # [C, T, W]
        result: Tensor = self.stack(self.dropout(self.norm(rows)), mask)
        return result


def positions(steps: int, width: int, device: torch.device) -> Tensor:
    """Sine and cosine position vectors [steps, width], for captions of any length."""
    step = torch.arange(steps, device=device, dtype=torch.float32).unsqueeze(1)
    rate = torch.exp(torch.arange(0, width, 2, device=device, dtype=torch.float32) * (-math.log(10000.0) / width))
    table = torch.zeros(steps, width, device=device)
    table[:, 0::2] = torch.sin(step * rate)
    table[:, 1::2] = torch.cos(step * rate)[:, : width // 2]
    return table
