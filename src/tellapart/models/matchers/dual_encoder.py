"""A matcher of two encoders into one space: cells of an image pooled, words of a caption pooled, cosine.

End-to-end training uses InfoNCE with a learned temperature (Radford et al. 2021, section 2.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.types import Encoded, Images, Texts
from tellapart.models.inputs import ModelInputs
from tellapart.models.matchers.sentence_encoder import SentenceEncoder, SentenceEncoderSize, minilm_weights
from tellapart.models.matchers.word_gru import WordGru

LARGEST_SCALE = 100.0


class PooledCells(nn.Module):
    """Cells [I, R, D] -> [I, 2 D]: their mean, and a mean weighted by learned attention."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.attend = nn.LayerNorm(width), nn.Linear(width, 1)
        nn.init.zeros_(self.attend.weight)

    def forward(self, cells: Tensor, mask: Tensor) -> Tensor:
        kept = mask.unsqueeze(-1)
        mean = (cells * kept).sum(1) / kept.sum(1).clamp(min=1)
        scores = self.attend(self.norm(cells)).float().masked_fill(~kept, -1e4)
        weighted = (cells * scores.softmax(1).to(cells.dtype)).sum(1)
        return torch.cat([mean, weighted], -1)


class DualEncoderModel(nn.Module):
    """Scores images (feature rows) against captions by the cosine of their vectors.

    Args:
        feature_width: D of the feature rows.
        text: module from token ids [C, T] and their mask to vectors [C, text.width].
        width: E of the common space.
    """

    def __init__(self, feature_width: int, text: SentenceEncoder | WordGru, width: int = 512) -> None:
        super().__init__()
        self.width = width
        self.pool, self.image = PooledCells(feature_width), nn.Linear(2 * feature_width, width)
        self.text, self.caption = text, nn.Linear(text.width, width)
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def image_vectors(self, features: Tensor, mask: Tensor) -> Tensor:
        """Unit vectors [I, E] of feature rows [I, R, D]."""
        return functional.normalize(self.image(self.pool(features, mask)).float(), dim=-1)

    def cell_vectors(self, features: Tensor) -> Tensor:
        """What each cell adds to the vector of its image [I, R, E], up to a factor: by the mean, and by attention."""
        width = features.shape[-1]
        both = self.image.weight[:, :width] + self.image.weight[:, width:]  # [E, D]
        return functional.linear(features.float(), both.float())

    def text_vectors(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Unit vectors [C, E] of token ids [C, T]."""
        return functional.normalize(self.caption(self.text(tokens, mask)).float(), dim=-1)

    def scale(self) -> Tensor:
        """The factor of cosines before a softmax: one over the temperature."""
        return self.log_scale.exp().clamp(max=LARGEST_SCALE)

    def encode_image(self, images: Images) -> Encoded:
        """Unit vectors [I, E]."""
        return Encoded(self.image_vectors(images.features, images.mask))

    def encode_text(self, texts: Texts) -> Encoded:
        """Unit vectors [C, E]."""
        return Encoded(self.text_vectors(texts.tokens, texts.mask))

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """[I, C] cosines."""
        return images.vectors @ texts.vectors.t()


@dataclass(frozen=True)
class DualEncoder:
    """Pooled cells of the image against a transformer over subwords, or a bi-GRU over words."""

    width: int = 512
    """Width of the common space."""
    text: str = "transformer"
    """transformer (sized like all-MiniLM-L6-v2 by default) or gru."""
    start: str = "minilm"
    """Where the transformer's weights come from: minilm (all-MiniLM-L6-v2, whose subwords the vocabulary must then
    have), or empty for random ones."""
    text_width: int = 384
    """Width of the transformer, or of the GRU's word vectors."""
    layers: int = 6
    """Layers of the transformer."""
    heads: int = 12
    """Heads of each layer."""
    feed_forward: int = 1536
    """Hidden width of the transformer's feed-forward layers, or of each direction of the GRU."""
    positions: int = 512
    """Positions with a vector; longer texts are cut."""
    dropout: float = 0.1
    """Dropout of the text encoder."""

    def build(self, inputs: ModelInputs) -> DualEncoderModel:
        """The matcher; its text encoder starts from `start`, the rest from random weights."""
        return DualEncoderModel(inputs.feature_width, self._text(inputs), self.width)

    def _text(self, inputs: ModelInputs) -> SentenceEncoder | WordGru:
        words = len(inputs.vocabulary)
        if self.text == "gru":
            return WordGru(words, self.text_width, self.feed_forward, self.dropout)
        if self.text != "transformer" or self.start not in ("minilm", ""):
            raise InputError(
                f"`text` must be transformer or gru, and `start` minilm or empty, not {self.text} and {self.start}."
            )
        encoder = SentenceEncoder(
            SentenceEncoderSize(
                words,
                self.text_width,
                layers=self.layers,
                heads=self.heads,
                feed_forward=self.feed_forward,
                positions=self.positions,
                dropout=self.dropout,
            )
        )
        if self.start and inputs.load_pretrained:
            encoder.load_state_dict(minilm_weights(inputs.vocabulary, self.positions))
        return encoder
