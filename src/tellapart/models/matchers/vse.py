"""VSE and VSE++: a linear layer on the image's feature, a GRU over the words; ConVSE: projection heads on top."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor, nn

from tellapart.core.types import Encoded, Images, Texts
from tellapart.data.sampling import LATER
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.convse_heads import convse_heads
from tellapart.models.layers.gru import LastStateGRU
from tellapart.models.layers.projection import linear
from tellapart.models.layers.trainable_backbone import trainable_backbone
from tellapart.models.layers.word_embedding import WordNoise, word_embedding
from tellapart.models.matchers.scores import cosine, unit


class VSEModel(nn.Module):
    """Two encoders into one space (ConVSE paper, sections II and IV-A2; Algorithm 1 with heads)."""

    def __init__(self, config: VSE, inputs: ModelInputs) -> None:
        super().__init__()
        self.normalise_features = config.normalise_features
        self.backbone, width = trainable_backbone(config.backbone, inputs, config.freeze_norms)
        self.image = linear(width, config.embedding)
        self.noise = WordNoise(config.replace_words, config.delete_words)
        self.words = word_embedding(inputs, config.word_width, config.word_vectors)
        self.text = LastStateGRU(self.words.width, config.embedding)
        output = config.output or config.embedding
        self.image_head: nn.Module = nn.Identity()
        self.text_head: nn.Module = nn.Identity()
        if config.heads:
            self.image_head, self.text_head = convse_heads(config.embedding, config.heads, output, config.heads_start)
        self.dropout = nn.Dropout(config.dropout)
        self.width = output if config.heads else config.embedding

    def encode_image(self, images: Images) -> Encoded:
        """Image vectors [I, E] of length one."""
        features = self.dropout(self.backbone(images).pooled())  # [I, D]
        if self.normalise_features:
            features = unit(features)
        return Encoded(unit(self.image_head(self.image(features))))

    def encode_text(self, texts: Texts) -> Encoded:
        """Caption vectors [C, E] of length one."""
        texts = self.noise(texts)
        state = self.text(self.dropout(self.words(texts.tokens)), texts.lengths)  # [C, E]
        return Encoded(unit(self.text_head(state)))

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """Cosines [I, C]."""
        return cosine(images.vectors, texts.vectors)


@dataclass(frozen=True)
class VSE:
    """VSE++'s two encoders; with `heads`, ConVSE's."""

    embedding: int = 1024
    """Width of the joint space, and of the GRU."""
    word_width: int = 300
    """Width of the word vectors, learned from scratch unless `word_vectors` is given."""
    word_vectors: str = ""
    """Initial word vectors: `glove-50` or a GloVe text file. Empty: random, as in the released code."""
    heads: int = 0
    """Hidden width of ConVSE's projection heads g_I and g_C (2048 in the paper); 0: no heads."""
    output: int = 0
    """Width after the heads (d of Table II); 0: that of `embedding`."""
    normalise_features: bool = False
    """Scale an image's feature to length one first: the released code does so for a CNN that it trains, not for
    features on disk."""
    backbone: str = ""
    """A backbone to train too, by name; empty: features from disk. Freeze it with the prefix `backbone`."""
    freeze_norms: bool = True
    """Keep the backbone's batch norms on their running statistics; ConVSE's code uses those of the batch."""
    dropout: float = 0.0
    """Dropout of features and word vectors; the papers use none."""
    replace_words: float = 0.0
    """Share of words replaced by UNK in training."""
    delete_words: float = 0.0
    """Share of words deleted in training."""
    heads_start: str = field(default="independent", metadata=LATER)
    """First weights of the heads: independent (random, as published), shared (the same random map on both sides), or
    identity (scores do not change; `heads` must be twice `embedding`)."""

    def build(self, inputs: ModelInputs) -> VSEModel:
        """The model, with random or pretrained weights."""
        return VSEModel(self, inputs)
