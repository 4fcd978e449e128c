"""VSRN: a graph network over regions, then a GRU that reads them into one image vector."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.types import Encoded, Images, Texts
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.gru import LastStateGRU
from tellapart.models.layers.projection import linear
from tellapart.models.layers.region_graph import RegionReasoning
from tellapart.models.layers.word_embedding import WordNoise, word_embedding
from tellapart.models.matchers.ltd_baseline import LTDTextEncoder
from tellapart.models.matchers.scores import cosine, unit

OVER_FEATURES, OVER_REGIONS = -1, 1
NORMALISATIONS = {"features": OVER_FEATURES, "regions": OVER_REGIONS}


class VSRNImageEncoder(nn.Module):
    """The region graph and the GRU on top of it (Li et al. 2019, as the LTD paper uses it in section 4.2)."""

    def __init__(self, config: VSRN, width: int) -> None:
        super().__init__()
        self.over = NORMALISATIONS[config.normalisation]
        self.normalise_first = config.normalise_first
        self.project = linear(width, config.embedding)
        self.graph = nn.ModuleList(RegionReasoning(config.embedding) for _ in range(config.layers))
        self.gru = LastStateGRU(config.embedding, config.embedding)
        self.norm = nn.BatchNorm1d(config.embedding) if config.batch_norm else nn.Identity()

    def regions(self, images: Images) -> Tensor:
        """Regions after the graph layers [I, R, E]; masked ones are zero."""
        regions = self.project(images.features) * images.mask.unsqueeze(-1)
        if self.normalise_first:
            regions = F.normalize(regions, dim=self.over)
        for layer in self.graph:
            regions = layer(regions, images.mask)
        return F.normalize(regions, dim=self.over)

    def forward(self, images: Images) -> Tensor:
        """Image vectors [I, E]: the last state of a GRU over the regions, in the detector's order."""
        result: Tensor = self.norm(self.gru(self.regions(images), images.mask.sum(1)))
        return result


class OneWayTextEncoder(nn.Module):
    """VSE++'s caption encoder, as in the original VSRN."""

    def __init__(self, inputs: ModelInputs, config: VSRN, noise: WordNoise) -> None:
        super().__init__()
        self.noise = noise
        self.words = word_embedding(inputs, config.word_width, config.word_vectors)
        self.gru = LastStateGRU(config.word_width, config.embedding)

    def forward(self, texts: Texts) -> Tensor:
        """Caption vectors [C, E]."""
        texts = self.noise(texts)
        result: Tensor = self.gru(self.words(texts.tokens), texts.lengths)
        return result


class VSRNModel(nn.Module):
    """See `VSRN`."""

    def __init__(self, config: VSRN, inputs: ModelInputs) -> None:
        super().__init__()
        self.image = VSRNImageEncoder(config, inputs.feature_width)
        noise = WordNoise(config.replace_words, config.delete_words)
        if config.text == "ltd":
            self.text: nn.Module = LTDTextEncoder(
                inputs, config.embedding, config.word_width, config.word_vectors, "ends", noise
            )
        else:
            self.text = OneWayTextEncoder(inputs, config, noise)
        self.width = config.embedding

    def encode_image(self, images: Images) -> Encoded:
        """Image vectors [I, E] of length one."""
        return Encoded(unit(self.image(images)))

    def encode_text(self, texts: Texts) -> Encoded:
        """Caption vectors [C, E] of length one."""
        return Encoded(unit(self.text(texts)))

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """Cosines [I, C]."""
        return cosine(images.vectors, texts.vectors)

    def encode_regions(self, images: Images) -> Encoded:
        """The regions after the graph layers [I, R, E], which VSRN's caption decoder reads."""
        return Encoded(self.image.regions(images), images.mask)


@dataclass(frozen=True)
class VSRN:
    """VSRN with LTD's two changes (LTD paper, section 4.2) by default; the original by text=gru, embedding=2048."""

    embedding: int = 1024
    """Width of regions, word states and the joint space; 2048 in the original."""
    layers: int = 4
    """Graph layers."""
    text: str = "ltd"
    """ltd: LTD's bi-GRU with a two-layer head; gru: the one-way GRU of the original."""
    word_width: int = 300
    """Width of the word vectors."""
    word_vectors: str = ""
    """Initial word vectors: `glove-50` or a GloVe text file."""
    batch_norm: bool = True
    """Batch norm of the image vector: always in LTD, on Flickr30k only in the original."""
    normalisation: str = "features"
    """Scale regions to length one over their `features` (LTD's code), or each feature over the `regions` (original)."""
    normalise_first: bool = False
    """Scale regions before the graph too: on COCO only in the original."""
    replace_words: float = 0.0
    """Share of words replaced by UNK in training."""
    delete_words: float = 0.0
    """Share of words deleted in training."""

    def build(self, inputs: ModelInputs) -> VSRNModel:
        """The model, with random or pretrained weights."""
        if self.normalisation not in NORMALISATIONS:
            raise InputError(f"normalisation must be features or regions, not '{self.normalisation}'.")
        if self.text not in ("ltd", "gru"):
            raise InputError(f"text must be ltd or gru, not '{self.text}'.")
        return VSRNModel(self, inputs)
