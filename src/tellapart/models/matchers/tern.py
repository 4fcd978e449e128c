"""TERN: a transformer over regions, BERT over words, shared layers on top of both; the CLS vectors are compared."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.types import Encoded, Images, Texts
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.language_encoder import LanguageEncoder
from tellapart.models.layers.projection import linear
from tellapart.models.layers.transformer import RegionTransformer, TransformerStack, WordTransformer
from tellapart.models.layers.word_embedding import WordNoise
from tellapart.models.matchers.scores import cosine, unit


class TERNModel(nn.Module):
    """Messina et al. 2020, as the LTD paper uses it in section 4.2. Both sides share their last layers."""

    def __init__(self, config: TERN, inputs: ModelInputs) -> None:
        super().__init__()
        shape = (config.heads, config.hidden, config.dropout)
        self.image = RegionTransformer(inputs.feature_width, config.region_width, config.region_layers, *shape)
        self.noise = WordNoise(config.replace_words, config.delete_words)
        self.bert: LanguageEncoder | None = None
        self.words: WordTransformer | None = None
        if config.bert:
            self.bert = LanguageEncoder(config.bert, inputs, config.text_layers)
            text_width = self.bert.width
        else:
            text_width = config.word_width
            self.words = WordTransformer(len(inputs.vocabulary), text_width, config.text_layers, *shape)
        self.image_out = linear(config.region_width, config.embedding)
        self.text_out = linear(text_width, config.embedding)
        self.shared = TransformerStack(config.embedding, config.shared_layers, *shape)
        self.width = config.embedding

    def encode_image(self, images: Images) -> Encoded:
        """Image vectors [I, E] of length one."""
        rows, mask = self.image(images.features, images.boxes, images.mask)
        return self._finish(self.image_out(rows), mask)

    def encode_text(self, texts: Texts) -> Encoded:
        """Caption vectors [C, E] of length one."""
        texts = self.noise(texts)
        if self.bert is not None:
            states, mask = self.bert(texts)
        else:
            assert self.words is not None
            mask = texts.mask
            states = self.words(texts.tokens, mask)
        return self._finish(self.text_out(states), mask)

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """Cosines [I, C]."""
        return cosine(images.vectors, texts.vectors)

    def _finish(self, rows: Tensor, mask: Tensor) -> Encoded:
        """The CLS vector, which is the first row on both sides, after the shared layers."""
        return Encoded(unit(self.shared(rows, mask)[:, 0]))


@dataclass(frozen=True)
class TERN:
    """TERN; without `bert` its text side is a small transformer, trained from scratch."""

    embedding: int = 1024
    """Width of the shared layers and the joint space."""
    bert: str = ""
    """A BERT-like `transformers` folder or name for the text side, or `minilm`; empty: a small transformer."""
    text_layers: int = 6
    """Layers of the text side; of a BERT, its first ones."""
    word_width: int = 512
    """Width of the small text transformer."""
    region_width: int = 2048
    """Width of the region transformer."""
    region_layers: int = 4
    """Layers of the region transformer."""
    shared_layers: int = 2
    """Layers shared by both sides."""
    heads: int = 4
    """Attention heads of every transformer."""
    hidden: int = 2048
    """Width of the feed-forward parts."""
    dropout: float = 0.1
    """Dropout of every transformer."""
    replace_words: float = 0.0
    """Share of words replaced by UNK in training."""
    delete_words: float = 0.0
    """Share of words deleted in training."""

    def build(self, inputs: ModelInputs) -> TERNModel:
        """The model, with random or pretrained weights."""
        widths = {"embedding": self.embedding, "region_width": self.region_width}
        if not self.bert:
            widths["word_width"] = self.word_width
        for name, width in widths.items():
            if self.heads < 1 or width % self.heads:
                raise InputError(f"heads must divide {name}, but {self.heads} does not divide {width}.")
        return TERNModel(self, inputs)
