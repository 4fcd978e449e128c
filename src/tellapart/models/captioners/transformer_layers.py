"""Attention and pre-norm layers of the transformer captioner (Vaswani et al. 2017, section 3; Xiong et al. 2020).

Attention is written out as products and a softmax: it returns its weights, and gives the same result on every device
and in every precision. N sequences, h heads, d values per head, H = h d.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

KeysAndValues = tuple[Tensor, Tensor]  # each [N, h, L, d]


class Attention(nn.Module):
    """softmax(Q K^T / sqrt(d)) V over several heads (Vaswani et al. 2017, Eq. 1)."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.output = nn.Linear(width, width), nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def keys_and_values(self, rows: Tensor) -> KeysAndValues:
        """Rows [N, L, H] -> keys and values [N, h, L, d]."""
        return self._split(self.key(rows)), self._split(self.value(rows))

    def forward(self, rows: Tensor, read: KeysAndValues, keep: Tensor) -> tuple[Tensor, Tensor]:
        """Rows [N, Q, H] read keys and values [N, h, L, d] where keep (broadcast to [N, h, Q, L]) is True.

        Returns [N, Q, H] and the weights [N, h, Q, L].
        """
        query, (keys, values) = self._split(self.query(rows)), read
        scores = (query @ keys.transpose(-1, -2)).float() * query.shape[-1] ** -0.5
        weights = scores.masked_fill(~keep, torch.finfo(torch.float32).min).softmax(-1)
        mixed = self.dropout(weights).to(values.dtype) @ values  # [N, h, Q, d]
        return self.output(mixed.transpose(1, 2).flatten(2)), weights

    def _split(self, rows: Tensor) -> Tensor:
        return rows.view(*rows.shape[:-1], self.heads, rows.shape[-1] // self.heads).transpose(1, 2)


class FeedForward(nn.Sequential):
    """Two linear layers with a GELU between them."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__(nn.Linear(width, hidden), nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, width))


class EncoderLayer(nn.Module):
    """Self-attention among the cells of an image, then a feed-forward layer; each is added to its input."""

    def __init__(self, width: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(width, heads, dropout)
        self.feed_forward = FeedForward(width, feed_forward, dropout)
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, cells: Tensor, keep: Tensor) -> Tensor:
        """Cells [I, R, H], keep [I, 1, 1, R]."""
        normed = self.attention_norm(cells)
        mixed, _ = self.attention(normed, self.attention.keys_and_values(normed), keep)
        cells = cells + self.dropout(mixed)
        added: Tensor = self.dropout(self.feed_forward(self.feed_forward_norm(cells)))
        return cells + added


class DecoderLayer(nn.Module):
    """Self-attention among the words so far, attention over the image's cells, and a feed-forward layer."""

    def __init__(self, width: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__()
        self.own, self.cross = Attention(width, heads, dropout), Attention(width, heads, dropout)
        self.feed_forward = FeedForward(width, feed_forward, dropout)
        self.own_norm, self.cross_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, words: Tensor, before: KeysAndValues | None, earlier: Tensor, cells: KeysAndValues, keep: Tensor
    ) -> tuple[Tensor, KeysAndValues, Tensor]:
        """Words [C, T, H] after those whose keys and values are `before`; cells of I images, C = k I, image by image.

        earlier [T, t + T]: which words each may read; keep [I, 1, 1, R]: which cells exist.
        Returns the words, the keys and values of all words so far, and attention over the cells [C, T, R].
        """
        normed = self.own_norm(words)
        read = self.own.keys_and_values(normed)
        if before is not None:
            read = torch.cat([before[0], read[0]], 2), torch.cat([before[1], read[1]], 2)
        mixed, _ = self.own(normed, read, earlier)
        words = words + self.dropout(mixed)
        # All captions of an image query its cells together: one product per image, no copy of the cells per caption.
        captions, steps, width = words.shape
        queries = self.cross_norm(words).reshape(cells[0].shape[0], -1, width)  # [I, k T, H]
        mixed, weights = self.cross(queries, cells, keep)
        words = words + self.dropout(mixed.reshape(captions, steps, width))
        words = words + self.dropout(self.feed_forward(self.feed_forward_norm(words)))
        return words, read, weights.mean(1).reshape(captions, steps, -1)
