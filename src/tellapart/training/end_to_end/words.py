"""Captions as two tables of ids, whole words for the captioner and subwords for the matcher, and ways between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from tellapart.text.tokens import split_all
from tellapart.text.vocabulary import END, PAD, START, UNK, Vocabulary
from tellapart.text.wordpiece import plain_ending

FIRST_PIECE, LAST_PIECE = 101, 102  # [CLS] and [SEP] of BERT's uncased subwords
Pieces = Callable[[Sequence[str]], list[list[int]]]
"""Subword ids of texts, without marks for begin and end."""


def count_words(captions: Iterable[str], least: int) -> Vocabulary:
    """The words that occur at least so often, the most frequent first."""
    counts = Counter(word for words in split_all(captions) for word in words)
    kept = sorted((word for word, count in counts.items() if count >= least), key=lambda word: (-counts[word], word))
    return Vocabulary.from_words(kept)


def word_table(captions: Sequence[str], vocabulary: Vocabulary, most: int = 20) -> np.ndarray:
    """[C, most + 2] uint16: START, up to `most` words, END, PAD. A caption cut short has a word in END's place."""
    table = np.full((len(captions), most + 2), PAD, np.uint16)
    table[:, 0] = START
    for row, words in zip(table, split_all(captions)):
        ids = [*vocabulary.encode(words), END][: most + 1]
        row[1 : len(ids) + 1] = ids
    return table


def piece_table(captions: Sequence[str], pieces: Pieces, most: int = 24) -> np.ndarray:
    """[C, most] uint16: [CLS], subwords, [SEP], PAD; captions lose the marks at their end."""
    table = np.zeros((len(captions), most), np.uint16)
    for row, ids in zip(table, pieces([plain_ending(caption) for caption in captions])):
        whole = [FIRST_PIECE, *ids[: most - 2], LAST_PIECE]
        row[: len(whole)] = whole
    return table


def swap_table(size: int, left: int, right: int) -> Tensor:
    """[size]: each id itself, but left and right exchanged, for captions of flipped images."""
    table = torch.arange(size)
    table[left], table[right] = right, left
    return table


def swapped(tokens: Tensor, flipped: Tensor, table: Tensor) -> Tensor:
    """Tokens [I, ...] of which those of flipped images [I] go through the table."""
    return torch.where(flipped.view(-1, *(1,) * (tokens.ndim - 1)), table[tokens], tokens)


class WordPieces:
    """Turns captions of word ids into captions of subword ids on the device, with no strings."""

    def __init__(self, vocabulary: Vocabulary, pieces: Pieces, most: int = 4) -> None:
        found = pieces([*vocabulary.words])
        table = torch.zeros(len(found), most, dtype=torch.long)
        for row, ids in zip(table, found):
            row[: min(len(ids), most)] = torch.tensor(ids[:most], dtype=torch.long)
        self.table = table

    @classmethod
    def from_table(cls, table: Tensor) -> WordPieces:
        """The same from a table [V, most] made before; 0 where a word has fewer subwords."""
        made = cls.__new__(cls)
        made.table = table.long()
        return made

    def to(self, device: torch.device | str) -> WordPieces:
        return WordPieces.from_table(self.table.to(device))

    def __call__(self, words: Tensor, most: int = 32) -> Tensor:
        """Words [N, T] (END and PAD end a caption, no START) -> [CLS], subwords, [SEP], PAD [N, most]."""
        ended = ((words == END) | (words == PAD)).cumsum(1) > 0
        kept = (~ended & (words > UNK)).unsqueeze(-1) & (self.table[words] > 0)  # [N, T, k]
        ids, kept = self.table[words].flatten(1), kept.flatten(1)
        place = kept.cumsum(1).masked_fill(~kept, most)  # from 1, after [CLS]; dropped ones go to the spare column
        place = place.clamp(max=most)
        place = torch.where(place >= most - 1, most, place)
        found = torch.zeros(len(words), most + 1, dtype=torch.long, device=words.device).scatter_(1, place, ids)
        count = kept.sum(1).clamp(max=most - 2)
        found[:, 0] = FIRST_PIECE
        found.scatter_(1, (count + 1).unsqueeze(1), LAST_PIECE)
        return found[:, :most]
