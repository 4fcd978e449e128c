"""TERN: a transformer over regions, BERT over words, shared layers on top of both, and their CLS vectors compared."""

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
    """Messina et al. 2020, as the LTD paper uses it in section 4.2. The two sides meet only in the shared weights."""

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
        rows, mask = self.image(images.features, images.boxes, images.mask)
        return self._finish(self.image_out(rows), mask)

    def encode_text(self, texts: Texts) -> Encoded:
        texts = self.noise(texts)
        if self.bert is not None:
            states, mask = self.bert(texts)
        else:
            assert self.words is not None
            mask = texts.mask
            states = self.words(texts.tokens, mask)
        return self._finish(self.text_out(states), mask)

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        return cosine(images.vectors, texts.vectors)

    def _finish(self, rows: Tensor, mask: Tensor) -> Encoded:
        """Shared layers, then the CLS vector, which stands first on both sides."""
        return Encoded(unit(self.shared(rows, mask)[:, 0]))


@dataclass(frozen=True)
class TERN:
    """TERN; without `bert` its text side is a small transformer of our own, learned from scratch."""

    embedding: int = 1024
    """Width of the shared layers and the joint space."""
    bert: str = ""
    """A BERT-like `transformers` folder or name for the text side, or `minilm`; empty: our own."""
    text_layers: int = 6
    """Layers of the text side; of a BERT, its first so many."""
    word_width: int = 512
    """Width of our own text side."""
    region_width: int = 2048
    region_layers: int = 4
    shared_layers: int = 2
    heads: int = 4
    hidden: int = 2048
    """Width of the feed-forward parts."""
    dropout: float = 0.1
    replace_words: float = 0.0
    delete_words: float = 0.0

    def build(self, inputs: ModelInputs) -> TERNModel:
        widths = {"embedding": self.embedding, "region_width": self.region_width}
        if not self.bert:
            widths["word_width"] = self.word_width
        for name, width in widths.items():
            if self.heads < 1 or width % self.heads:
                raise InputError(f"TERN's {self.heads} heads must share each width equally, and {name} is {width}.")
        return TERNModel(self, inputs)
