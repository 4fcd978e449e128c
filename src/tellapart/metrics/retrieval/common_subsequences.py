"""Longest common subsequences of many captions with many others, on any device."""

from __future__ import annotations

import torch
from torch import Tensor

END = -1
"""Marks the places after a caption's last word."""
WORD_BITS = 64


class References:
    """Captions to compare with, longest first, so that a step touches only those that still have a word."""

    def __init__(self, words: Tensor, lengths: Tensor) -> None:
        """words [C, S] with END after the last, lengths [C]."""
        self.order = lengths.argsort(descending=True, stable=True)
        self.words = words[self.order]
        sorted_lengths = lengths[self.order].cpu()
        self.left = [
            int((sorted_lengths > step).sum()) for step in range(int(sorted_lengths.max()) if len(words) else 0)
        ]
        """How many captions have a word at each step."""
        self.vocabulary = int(words.max()) + 1 if words.numel() else 1

    def in_order(self, values: Tensor) -> Tensor:
        """Values [q, C] of the sorted captions in the order they were given."""
        result = torch.empty_like(values)
        result[:, self.order] = values
        return result


def common_lengths(queries: Tensor, lengths: Tensor, references: References) -> Tensor:
    """Longest common subsequence of each query [q, T] with each reference: [q, C].

    Queries of up to 64 words are bit-parallel (Hyyrö 2004): a row of the table is the bits of one machine word, so each
    word of a reference costs four operations, for all pairs at once. Longer ones take the table.
    """
    short = lengths <= WORD_BITS
    if bool(short.all()):
        return references.in_order(_by_bits(queries[:, :WORD_BITS], lengths, references))
    found = torch.empty(len(queries), len(references.words), dtype=torch.long, device=queries.device)
    found[short] = references.in_order(_by_bits(queries[short][:, :WORD_BITS], lengths[short], references))
    found[~short] = references.in_order(by_table(queries[~short], references.words))
    return found


def _by_bits(queries: Tensor, lengths: Tensor, references: References) -> Tensor:
    # Words that no reference has cannot match; the last column takes them, and the places after the end.
    width = max(references.vocabulary, int(queries.max()) + 1 if queries.numel() else 0) + 1
    columns = queries.masked_fill(queries == END, width - 1)
    one = torch.ones((), dtype=torch.long, device=queries.device)
    bits = one << torch.arange(queries.shape[1], device=queries.device)
    # Every place of a query is another bit, so their sum is their union.
    places = torch.zeros(len(queries), width, dtype=torch.long, device=queries.device)
    places = places.scatter_add_(1, columns, bits.expand_as(columns)).t().contiguous()  # [V, q]: rows are gathered
    row = torch.full((len(references.words), len(queries)), -1, dtype=torch.long, device=queries.device)
    for step, count in enumerate(references.left):
        before = row[:count]
        match = places.index_select(0, references.words[:count, step]).bitwise_and_(before)
        row[:count] = (before + match).bitwise_or_(before - match)  # wraps around, as it should
    used = torch.where(lengths < WORD_BITS, (one << lengths.clamp(max=WORD_BITS - 1)) - 1, -one)
    return count_bits(~row & used).t()


def count_bits(words: Tensor) -> Tensor:
    """The number of set bits of each int64, by adding neighbours: pairs, fours, eights, then all bytes at once.

    >>> count_bits(torch.tensor([0, 5, -1])).tolist()
    [0, 2, 64]
    """
    words = words - ((words >> 1) & 0x5555555555555555)
    words = (words & 0x3333333333333333) + ((words >> 2) & 0x3333333333333333)
    words = (words + (words >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (words * 0x0101010101010101) >> 56


def by_table(queries: Tensor, references: Tensor) -> Tensor:
    """`common_lengths` of queries of any length with references [C, S] in this order, by dynamic programming."""
    row = torch.zeros(references.shape[1] + 1, len(queries), len(references), dtype=torch.long, device=queries.device)
    for word in queries.t():
        before = row.clone()
        for step in range(references.shape[1]):
            match = (references[:, step] == word.unsqueeze(1)) & (word != END).unsqueeze(1)
            row[step + 1] = torch.maximum(torch.maximum(before[step + 1], row[step]), before[step] + match)
    return row[-1]
