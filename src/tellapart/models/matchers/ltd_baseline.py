"""The baseline of latent target decoding: pooled features, a bi-GRU over GloVe vectors, two-layer heads."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.types import Encoded, Images, Texts
from tellapart.data.sampling import LATER
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.gru import SentenceBiGRU
from tellapart.models.layers.projection import linear, ltd_head
from tellapart.models.layers.trainable_backbone import trainable_backbone
from tellapart.models.layers.word_embedding import WordNoise, word_embedding
from tellapart.models.matchers.scores import cosine, unit


class LTDTextEncoder(nn.Module):
    """LTD's caption encoder (LTD paper, section 4.2): words, bi-GRU, two-layer head."""

    def __init__(
        self,
        inputs: ModelInputs,
        embedding: int,
        word_width: int,
        word_vectors: str,
        readout: str,
        noise: WordNoise,
        *,
        linear_head: bool = False,
    ) -> None:
        super().__init__()
        self.noise = noise
        self.words = word_embedding(inputs, word_width, word_vectors)
        self.gru = SentenceBiGRU(word_width, embedding // 2, readout)
        self.head = _head(self.gru.width, embedding, linear_head)

    def forward(self, texts: Texts) -> Tensor:
        """Caption vectors before normalisation [C, E]."""
        texts = self.noise(texts)
        result: Tensor = self.head(self.gru(self.words(texts.tokens), texts.lengths))
        return result


def _head(inputs: int, outputs: int, is_linear: bool) -> nn.Module:
    return linear(inputs, outputs, bias=False) if is_linear else ltd_head(inputs, outputs)


class LTDBaselineModel(nn.Module):
    """f_theta and g_phi of the LTD paper, section 3.1.2."""

    def __init__(self, config: LTDBaseline, inputs: ModelInputs) -> None:
        super().__init__()
        self.backbone, width = trainable_backbone(config.backbone, inputs, config.freeze_norms)
        self.image = _head(width, config.embedding, config.linear_heads)
        noise = WordNoise(config.replace_words, config.delete_words)
        readout = "last" if config.compat == "code" else "ends"
        self.text = LTDTextEncoder(
            inputs,
            config.embedding,
            config.word_width,
            config.word_vectors,
            readout,
            noise,
            linear_head=config.linear_heads,
        )
        self.image_norm = nn.BatchNorm1d(config.embedding) if config.batch_norm else nn.Identity()
        self.text_norm = nn.BatchNorm1d(config.embedding) if config.batch_norm else nn.Identity()
        self.width = config.embedding

    def encode_image(self, images: Images) -> Encoded:
        """Image vectors [I, E] of length one."""
        return Encoded(unit(self.image_norm(self.image(self.backbone(images).pooled()))))

    def encode_text(self, texts: Texts) -> Encoded:
        """Caption vectors [C, E] of length one."""
        return Encoded(unit(self.text_norm(self.text(texts))))

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """Cosines [I, C]."""
        return cosine(images.vectors, texts.vectors)


@dataclass(frozen=True)
class LTDBaseline:
    """LTD's baseline matcher (LTD paper, section 4.2)."""

    embedding: int = 1024
    """Width of the joint space; each direction of the bi-GRU has half of it."""
    word_width: int = 300
    """Width of the word vectors; 50 with `word_vectors=glove-50`."""
    word_vectors: str = ""
    """Initial word vectors: `glove-50` or a GloVe text file. Freeze them with the prefix `text.words`."""
    batch_norm: bool = False
    """Batch norm before vectors are scaled to length one: LTD has it with the triplet loss only."""
    compat: str = "paper"
    """code: read both GRU directions at the last token, as in LTD's released code; paper: each at its end."""
    replace_words: float = 0.0
    """Share of words replaced by UNK in training (0.1 in the released code)."""
    delete_words: float = 0.0
    """Share of words deleted in training (0.1 in the released code)."""
    backbone: str = ""
    """A backbone to train too, by name; empty: features from disk. Freeze it with the prefix `backbone`."""
    freeze_norms: bool = True
    """Keep the backbone's batch norms on their running statistics."""
    linear_heads: bool = field(default=False, metadata=LATER)
    """One linear layer per side instead of the paper's two with a ReLU between them."""

    def build(self, inputs: ModelInputs) -> LTDBaselineModel:
        """The model, with random or pretrained weights."""
        if self.compat not in ("paper", "code"):
            raise InputError(f"compat must be 'paper' or 'code', not '{self.compat}'.")
        return LTDBaselineModel(self, inputs)
