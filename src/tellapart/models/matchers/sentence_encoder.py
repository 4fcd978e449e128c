"""A BERT encoder in plain torch, sized and named to read the weights of all-MiniLM-L6-v2 (Apache-2.0).

Devlin et al. 2019; Wang et al. 2020 (MiniLM). Without the pooler, which the mean over the words does not use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.models.captioners.transformer_layers import Attention
from tellapart.text.sentence_targets import encoder_folder
from tellapart.text.vocabulary import PAD, Vocabulary
from tellapart.text.wordpiece import bert_names

NORM_EPSILON = 1e-12


@dataclass(frozen=True)
class SentenceEncoderSize:
    """Sizes of the encoder; the defaults are those of all-MiniLM-L6-v2."""

    words: int = 30522
    width: int = 384
    layers: int = 6
    heads: int = 12
    feed_forward: int = 1536
    positions: int = 512
    dropout: float = 0.1


class SentenceLayer(nn.Module):
    """Self-attention and a feed-forward layer, each followed by a layer norm."""

    def __init__(self, size: SentenceEncoderSize) -> None:
        super().__init__()
        self.attention = Attention(size.width, size.heads, size.dropout)
        self.attention_norm = nn.LayerNorm(size.width, eps=NORM_EPSILON)
        self.inner, self.outer = nn.Linear(size.width, size.feed_forward), nn.Linear(size.feed_forward, size.width)
        self.outer_norm = nn.LayerNorm(size.width, eps=NORM_EPSILON)
        self.dropout, self.activation = nn.Dropout(size.dropout), nn.GELU()

    def forward(self, words: Tensor, keep: Tensor) -> Tensor:
        mixed, _ = self.attention(words, self.attention.keys_and_values(words), keep)
        words = self.attention_norm(words + self.dropout(mixed))
        read: Tensor = self.outer_norm(words + self.dropout(self.outer(self.activation(self.inner(words)))))
        return read


class SentenceEncoder(nn.Module):
    """Subword ids [C, T] and which are real [C, T] -> the mean of the words' vectors [C, width]."""

    def __init__(self, size: SentenceEncoderSize | None = None) -> None:
        super().__init__()
        size = size or SentenceEncoderSize()
        self.width = size.width
        self.words = nn.Embedding(size.words, size.width)
        self.positions = nn.Parameter(torch.randn(size.positions, size.width) * 0.02)
        self.kind = nn.Parameter(torch.zeros(size.width))  # BERT's segment vector
        self.norm, self.dropout = nn.LayerNorm(size.width, eps=NORM_EPSILON), nn.Dropout(size.dropout)
        self.layers = nn.ModuleList(SentenceLayer(size) for _ in range(size.layers))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        tokens, mask = tokens[:, : len(self.positions)], mask[:, : len(self.positions)]
        words = self.words(tokens) + self.positions[: tokens.shape[1]] + self.kind
        words = self.dropout(self.norm(words))
        for layer in self.layers:
            words = layer(words, mask[:, None, None])
        kept = mask.unsqueeze(-1)
        mean: Tensor = (words.float() * kept).sum(1) / kept.sum(1).clamp(min=1)
        return mean


PART_NAMES = {
    "attention.self.query": "attention.query",
    "attention.self.key": "attention.key",
    "attention.self.value": "attention.value",
    "attention.output.dense": "attention.output",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "inner",
    "output.dense": "outer",
    "output.LayerNorm": "outer_norm",
}


def from_bert(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a SentenceEncoder from those of a `transformers` BertModel."""
    state = {
        "words.weight": weights["embeddings.word_embeddings.weight"],
        "positions": weights["embeddings.position_embeddings.weight"],
        "kind": weights["embeddings.token_type_embeddings.weight"][0],
        "norm.weight": weights["embeddings.LayerNorm.weight"],
        "norm.bias": weights["embeddings.LayerNorm.bias"],
    }
    for key, value in weights.items():
        if found := re.fullmatch(r"encoder\.layer\.(\d+)\.(.+)\.(weight|bias)", key):
            state[f"layers.{found[1]}.{PART_NAMES[found[2]]}.{found[3]}"] = value
    return state


def minilm_weights(vocabulary: Vocabulary, positions: int) -> dict[str, Tensor]:
    """The weights of all-MiniLM-L6-v2 with one word row per entry of the vocabulary, in its order."""
    from safetensors.torch import load_file

    folder = Path(encoder_folder("minilm"))
    state = from_bert(load_file(folder / "model.safetensors"))
    pieces = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    rows = {piece: row for row, piece in enumerate(pieces)}
    unknown = [word for word in bert_names(vocabulary) if word not in rows]
    if unknown:
        raise InputError(
            f"The vocabulary has '{unknown[0]}', which is not a subword of all-MiniLM-L6-v2; prepare the data with the "
            "vocabulary of a run that has its subwords, or set `start` to the empty string."
        )
    words = state["words.weight"][[rows[word] for word in bert_names(vocabulary)]]
    words[PAD] = 0
    return {**state, "words.weight": words, "positions": state["positions"][:positions]}
