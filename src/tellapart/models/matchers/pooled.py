"""A strong global matcher for features on disk: learned pooling of image rows, and a choice of text encoders.

Not from one paper: it combines what helps most with frozen backbones and little data. Images: a residual two-layer
projection of every row, optionally a small transformer over the rows, and learned pooling. Captions: a bi-GRU over word
vectors, or a pretrained language encoder, optionally with a fixed sentence vector from the pack. In training, rows,
features and words are dropped at random.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.types import Encoded, Images, Texts
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.gru import BiGRU
from tellapart.models.layers.language_encoder import LanguageEncoder
from tellapart.models.layers.pooling import pooling
from tellapart.models.layers.projection import linear
from tellapart.models.layers.transformer import TransformerStack, positions
from tellapart.models.layers.word_embedding import WordNoise, word_embedding
from tellapart.models.matchers.scores import cosine, unit


class RowDropout(nn.Module):
    """Drops rows of an image in training: each with probability `share`, but never all of them."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, mask: Tensor) -> Tensor:
        """mask [I, R] -> mask [I, R] with dropped rows False."""
        if not self.training or self.share == 0:
            return mask
        draw = torch.rand(mask.shape, device=mask.device).masked_fill(~mask, 2.0)
        kept = mask & (draw >= self.share)
        highest = draw.masked_fill(~mask, -1.0).argmax(1, keepdim=True)  # the row least likely to be dropped
        rescued = torch.zeros_like(mask).scatter_(1, highest, True)
        return kept | (rescued & ~kept.any(1, keepdim=True))


class RowsToVector(nn.Module):
    """A linear layer plus a residual two-layer path, optional self-attention, pooling."""

    def __init__(self, config: Pooled, width: int) -> None:
        super().__init__()
        self.drop_rows = RowDropout(config.row_dropout)
        self.norm = nn.LayerNorm(width) if config.layer_norm else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        self.straight = linear(width, config.embedding)
        hidden = config.embedding // 2
        self.bent = nn.Sequential(
            linear(width, hidden), nn.ReLU(), nn.Dropout(config.dropout), linear(hidden, config.embedding)
        )
        self.stack: TransformerStack | None = None
        if config.row_layers:
            self.stack = TransformerStack(config.embedding, config.row_layers, 8, config.embedding, config.dropout)
        self.pool = pooling(config.pooling, config.embedding)

    def forward(self, images: Images) -> Tensor:
        """features [I, R, D] -> vectors [I, E]."""
        mask = self.drop_rows(images.mask)
        rows = self.dropout(self.norm(images.features))
        rows = self.straight(rows) + self.bent(rows)  # [I, R, E]
        if self.stack is not None:
            rows = self.stack(rows + positions(rows.shape[1], rows.shape[2], rows.device).to(rows.dtype), mask)
        result: Tensor = self.pool(rows, mask)
        return result


class GRUWords(nn.Module):
    """Word states of a bi-GRU: the mean of its two directions."""

    def __init__(self, config: Pooled, inputs: ModelInputs) -> None:
        super().__init__()
        self.words = word_embedding(inputs, config.word_width, config.word_vectors)
        self.dropout = nn.Dropout(config.dropout)
        self.gru = BiGRU(config.word_width, config.embedding)

    def forward(self, texts: Texts) -> tuple[Tensor, Tensor]:
        """States [C, T, E] and their mask [C, T]."""
        return self.gru(self.dropout(self.words(texts.tokens)), texts.lengths).mean(2), texts.mask


class LanguageWords(nn.Module):
    """The projected states of a pretrained language encoder."""

    def __init__(self, config: Pooled, inputs: ModelInputs) -> None:
        super().__init__()
        self.encoder = LanguageEncoder(config.text, inputs)
        self.dropout = nn.Dropout(config.dropout)
        self.out = linear(self.encoder.width, config.embedding)

    def forward(self, texts: Texts) -> tuple[Tensor, Tensor]:
        """States [C, L, E] and their mask [C, L]."""
        states, mask = self.encoder(texts)
        return self.out(self.dropout(states)), mask


class PooledModel(nn.Module):
    """See `Pooled`."""

    def __init__(self, config: Pooled, inputs: ModelInputs) -> None:
        super().__init__()
        self.image = RowsToVector(config, inputs.feature_width)
        self.noise = WordNoise(config.replace_words, config.delete_words)
        self.text: nn.Module = GRUWords(config, inputs) if config.text == "gru" else LanguageWords(config, inputs)
        self.text_pool = pooling(config.text_pooling, config.embedding)
        self.column = config.sentence_column
        self.sentence: nn.Module | None = None
        if self.column:
            self.sentence = nn.Sequential(nn.Dropout(config.dropout), linear(config.sentence_width, config.embedding))
        self.width = config.embedding

    def encode_image(self, images: Images) -> Encoded:
        """Image vectors [I, E] of length one."""
        return Encoded(unit(self.image(images)))

    def encode_text(self, texts: Texts) -> Encoded:
        """Caption vectors [C, E] of length one."""
        states, mask = self.text(self.noise(texts))
        vector = self.text_pool(states, mask)  # [C, E]
        if self.sentence is not None:
            if self.column not in texts.columns:
                raise InputError(f"This matcher needs the caption column '{self.column}'; add it to sampling.columns.")
            # Both parts to length one, so that neither dominates.
            vector = unit(vector) + unit(self.sentence(texts.columns[self.column].to(vector.dtype)))
        return Encoded(unit(vector))

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """Cosines [I, C]."""
        return cosine(images.vectors, texts.vectors)


@dataclass(frozen=True)
class Pooled:
    """Learned pooling of image rows, with a bi-GRU or a pretrained text encoder."""

    embedding: int = 1024
    """Width of the joint space."""
    pooling: str = "generalised"
    """Pooling of image rows: mean, max, attention or generalised (learned weights by rank)."""
    row_layers: int = 0
    """Transformer layers over the rows before pooling."""
    layer_norm: bool = True
    """Normalise every feature row first: backbones differ in scale."""
    row_dropout: float = 0.2
    """Share of an image's rows dropped in training."""
    dropout: float = 0.1
    """Dropout of features, word vectors and hidden layers."""
    text: str = "gru"
    """gru; or a pretrained encoder: `minilm`, or a `transformers` folder or name. Freeze it with the prefix
    `text.encoder`."""
    text_pooling: str = "generalised"
    """Pooling of word states: mean, max, attention or generalised."""
    word_width: int = 300
    """Width of the word vectors; 50 with `word_vectors=glove-50`."""
    word_vectors: str = ""
    """Initial word vectors: `glove-50` or a GloVe text file."""
    sentence_column: str = ""
    """A pack column with a fixed sentence vector to add, such as `targets-minilm`. It gives meaning to words that
    training never saw, but every caption to score needs the column."""
    sentence_width: int = 384
    """Width of that column."""
    replace_words: float = 0.1
    """Share of words replaced by UNK in training."""
    delete_words: float = 0.1
    """Share of words deleted in training."""

    def build(self, inputs: ModelInputs) -> PooledModel:
        """The model, with random or pretrained weights."""
        try:
            return PooledModel(self, inputs)
        except ValueError as error:
            raise InputError(f"pooled: {error}.") from error
