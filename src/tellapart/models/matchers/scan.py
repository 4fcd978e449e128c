"""SCAN: words attend to regions (or regions to words), and a pair's score is their similarity to what they attend to;
POS-SCAN: only nouns count."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.types import Encoded, Images, Texts
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.cross_attention import Attention, attention_weights, cross_attention
from tellapart.models.layers.gru import WordStatesGRU
from tellapart.models.layers.projection import linear
from tellapart.models.layers.word_embedding import WordNoise, word_embedding
from tellapart.models.matchers.scores import unit

NOUNS = "nouns"
BOTH = ("t2i", "i2t")


class SCANModel(nn.Module):
    """Region and word vectors and their cross attention (grounded captioning paper, Eqs. 1-8)."""

    def __init__(self, config: SCAN, inputs: ModelInputs) -> None:
        super().__init__()
        self.nouns = config.nouns
        self.filtered = config.compat == "code"
        self.attentions = config.attentions()
        self.image = linear(inputs.feature_width, config.embedding)
        self.noise = WordNoise(config.replace_words, config.delete_words)
        self.words = word_embedding(inputs, config.word_width, config.word_vectors)
        self.text = WordStatesGRU(self.words.width, config.embedding)
        self.dropout = nn.Dropout(config.dropout)

    def encode_image(self, images: Images) -> Encoded:
        """Region vectors [I, R, E] of length one."""
        return Encoded(unit(self.image(self.dropout(images.features))), images.mask)

    def encode_text(self, texts: Texts) -> Encoded:
        """Word vectors [C, T, E] of length one."""
        texts = self.noise(texts)
        states = self.text(self.dropout(self.words(texts.tokens)), texts.lengths)  # [C, T, E]
        if not self.nouns:
            return Encoded(unit(states), texts.mask)
        nouns = _nouns(texts)
        return Encoded(unit(states), nouns) if self.filtered else Encoded(unit(states), texts.mask, nouns)

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """Cross-attention scores [I, C]."""
        scores = [cross_attention(images, texts, attention) for attention in self.attentions]
        return scores[0] if len(scores) == 1 else (scores[0] + scores[1]) / 2

    def attend(self, images: Encoded, texts: Encoded) -> Tensor:
        """The attention [N, T, R] of the tokens of caption n over the regions of image n (Eq. 5), which supervises a
        captioner's attention. Words that do not count have zero rows."""
        if self.attentions[0].direction != "t2i":
            raise InputError("Words attend to regions only in a text-to-image SCAN; train one with direction=t2i.")
        return attention_weights(images, texts, self.attentions[0])


def _nouns(texts: Texts) -> Tensor:
    """Which tokens count in POS-SCAN [C, T]: the nouns, or all tokens of a caption without nouns."""
    if NOUNS not in texts.columns:
        raise InputError(f"POS-SCAN needs the caption column '{NOUNS}'; add it to the stage's sampling.columns.")
    nouns = texts.columns[NOUNS].bool() & texts.mask
    return nouns | (texts.mask & ~nouns.any(1, keepdim=True))


@dataclass(frozen=True)
class SCAN:
    """SCAN over grid cells or regions; with `nouns`, POS-SCAN (grounded captioning paper, section 3.1)."""

    embedding: int = 1024
    """Width of region and word vectors."""
    word_width: int = 300
    """Width of the word vectors, learned from scratch unless `word_vectors` is given."""
    word_vectors: str = ""
    """Initial word vectors: `glove-50` or a GloVe text file."""
    direction: str = "t2i"
    """t2i: words attend to regions; i2t: regions attend to words; both: the mean of the two scores."""
    temperature: float = 9.0
    """Inverse temperature of the softmax over regions (t2i)."""
    word_temperature: float = 4.0
    """Inverse temperature of the softmax over words (i2t)."""
    aggregation: str = "mean"
    """Aggregation of a pair's similarities: mean, sum, max or logsumexp."""
    sharpness: float = 6.0
    """Factor lambda of logsumexp."""
    nouns: bool = False
    """POS-SCAN: only nouns count; needs the column `nouns`."""
    compat: str = "paper"
    """paper: negative similarities count as zero, and in POS-SCAN nouns alone enter the score (Eq. 8), while a region's
    similarities are normalised over all words (Eq. 5). code: a tenth of a negative similarity stays, and all words but
    nouns are removed before attention, so that a single noun gives every region similar to it the same weight."""
    dropout: float = 0.0
    """Dropout of features and word vectors; the papers use none."""
    replace_words: float = 0.0
    """Share of words replaced by UNK in training."""
    delete_words: float = 0.0
    """Share of words deleted in training."""

    def attentions(self) -> tuple[Attention, ...]:
        """The settings of each direction's cross attention."""
        if self.compat not in ("paper", "code"):
            raise InputError(f"compat must be 'paper' or 'code', not '{self.compat}'.")
        leak = 0.1 if self.compat == "code" else 0.0
        temperatures = {"t2i": self.temperature, "i2t": self.word_temperature}
        directions = BOTH if self.direction == "both" else (self.direction,)
        return tuple(
            Attention(d, temperatures.get(d, self.temperature), self.aggregation, self.sharpness, leak)
            for d in directions
        )

    def build(self, inputs: ModelInputs) -> SCANModel:
        """The model, with random or pretrained weights."""
        return SCANModel(self, inputs)
