"""Word embeddings, random or from word vectors such as GloVe, and word noise in training."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.types import Texts
from tellapart.models.inputs import ModelInputs
from tellapart.text.vocabulary import PAD, UNK, Vocabulary

SHORTEST_CAPTION = 3
"""START, one word, END."""


class WordEmbedding(nn.Module):
    """A table of word vectors [V, W]; PAD is zero and stays zero."""

    def __init__(self, words: int, width: int, trainable: bool = True) -> None:
        super().__init__()
        self.table = nn.Embedding(words, width, padding_idx=PAD)
        self.width = width
        nn.init.uniform_(self.table.weight, -0.1, 0.1)
        with torch.no_grad():
            self.table.weight[PAD] = 0
        self.table.weight.requires_grad_(trainable)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens [C, T] -> vectors [C, T, W]."""
        result: Tensor = self.table(tokens)
        return result


def word_embedding(inputs: ModelInputs, width: int, vectors: str = "", trainable: bool = True) -> WordEmbedding:
    """A table of this width, random or initialised with the word vectors called `vectors`, which must be as wide.

    Words without a vector keep random values. Nothing is read if a checkpoint is about to be loaded.
    """
    embedding = WordEmbedding(len(inputs.vocabulary), width, trainable)
    if vectors and inputs.load_pretrained:
        known, values = _read_vectors(vectors, inputs.vocabulary)
        if values.shape[1] != width:
            raise InputError(
                f"word_width must be {values.shape[1]}, the width of the word vectors {vectors}, not {width}."
            )
        with torch.no_grad():
            embedding.table.weight[known] = values
    return embedding


def _read_vectors(name: str, vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """Ids of the words that have vectors [K], and the vectors [K, W]."""
    from tellapart.text.word_vectors import load_word_vectors

    table, found = load_word_vectors(name, vocabulary)
    known = torch.as_tensor(found).nonzero().squeeze(1)
    return known, torch.as_tensor(table, dtype=torch.float32)[known]


class WordNoise(nn.Module):
    """Noise on captions in training: words become UNK or are deleted (LTD's augmentation; 0.1 and 0.1 in its code).

    Each word is replaced by UNK with probability `replace`. Then floor(`delete` n) of a caption's n words are deleted.
    START and END stay, and so does at least one word. Off in evaluation.
    """

    def __init__(self, replace: float = 0.0, delete: float = 0.0) -> None:
        super().__init__()
        self.replace, self.delete = replace, delete

    def forward(self, texts: Texts) -> Texts:
        """The captions with noise."""
        if not self.training or (self.replace == 0 and self.delete == 0):
            return texts
        tokens, lengths = texts.tokens, texts.lengths
        steps = torch.arange(tokens.shape[1], device=tokens.device).unsqueeze(0)
        word = (steps > 0) & (steps < (lengths - 1).unsqueeze(1))  # [C, T]
        if self.replace > 0:
            replaced = torch.rand(tokens.shape, device=tokens.device) < self.replace
            tokens = tokens.masked_fill(word & replaced, UNK)
        if self.delete > 0:
            return self._shorten(Texts(tokens, lengths, texts.columns), word)
        return Texts(tokens, lengths, texts.columns)

    def _shorten(self, texts: Texts, word: Tensor) -> Texts:
        words = texts.lengths - 2
        deleted = torch.minimum((words * self.delete).floor().long(), (texts.lengths - SHORTEST_CAPTION).clamp(min=0))
        draw = torch.rand(word.shape, device=word.device).masked_fill(~word, 2.0)
        place = draw.argsort(1).argsort(1)  # a word's position in a random order of its caption's words
        gone = word & (place < deleted.unsqueeze(1))
        order = gone.long().argsort(dim=1, stable=True)  # remaining words move to the front, in their order
        tokens = texts.tokens.masked_fill(gone, PAD).gather(1, order)
        columns = {
            name: column.gather(1, order) if column.shape == word.shape else column
            for name, column in texts.columns.items()
        }
        return Texts(tokens, texts.lengths - deleted, columns)
