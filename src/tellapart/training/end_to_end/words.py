"""Captions as two tables of ids, whole words for the captioner and subwords for the matcher, and ways between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tellapart.text.vocabulary import END, PAD, START, UNK, Vocabulary
from tellapart.text.wordpiece import split_pieces


def word_table(captions: Sequence[Sequence[str]], vocabulary: Vocabulary, longest: int = 20) -> np.ndarray:
    """[C, longest + 2] uint16: START, words, END, PAD. A caption that is cut has a word in END's place."""
    table = np.full((len(captions), longest + 2), PAD, np.uint16)
    table[:, 0] = START
    for row, words in zip(table, captions):
        ids = [*vocabulary.encode(words), END][: longest + 1]
        row[1 : len(ids) + 1] = ids
    return table


def piece_table(captions: Sequence[str], vocabulary: Vocabulary, longest: int = 22) -> np.ndarray:
    """[C, longest + 2] uint16: START, subwords, END, PAD; punctuation at the end of a caption is dropped."""
    table = np.full((len(captions), longest + 2), PAD, np.uint16)
    for row, pieces in zip(table, split_pieces(captions, vocabulary)):
        ids = [START, *vocabulary.encode(pieces)[:longest], END]
        row[: len(ids)] = ids
    return table


def swapped(tokens: Tensor, flipped: Tensor, table: Tensor) -> Tensor:
    """Tokens [I, ...], with those of mirrored images [I] replaced by the table."""
    return torch.where(flipped.view(-1, *(1,) * (tokens.ndim - 1)), table[tokens], tokens)


class PiecesOfWords:
    """Turns captions of word ids into captions of subword ids on the device, without strings."""

    def __init__(
        self, words: Vocabulary, pieces: Vocabulary, device: torch.device | str = "cpu", longest: int = 4
    ) -> None:
        table = torch.full((len(words), longest), PAD)
        for row, found in zip(table[UNK + 1 :], split_pieces(words.words[UNK + 1 :], pieces)):
            ids = pieces.encode(found)[:longest]
            row[: len(ids)] = torch.tensor(ids, dtype=torch.long)
        self.table = table.to(device)  # [V, longest]

    def __call__(self, words: Tensor, longest: int = 32) -> Tensor:
        """Words [N, T] (END and PAD end a caption, no START) -> START, subwords, END, PAD [N, longest]."""
        ended = ((words == END) | (words == PAD)).cumsum(1) > 0
        kept = (~ended & (words > UNK)).unsqueeze(-1) & (self.table[words] != PAD)  # [N, T, k]
        ids, kept = self.table[words].flatten(1), kept.flatten(1)
        place = kept.cumsum(1).masked_fill(~kept, longest)  # from 1, after START; the spare column takes the rest
        place = torch.where(place >= longest - 1, longest, place)
        found = torch.full((len(words), longest + 1), PAD, device=words.device).scatter_(1, place, ids)
        count = kept.sum(1).clamp(max=longest - 2)
        found[:, 0] = START
        found.scatter_(1, (count + 1).unsqueeze(1), END)
        return found[:, :longest]
