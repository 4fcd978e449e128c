"""A small transformer captioner over the cells of an image: encoder, causal decoder, one table of words.

Vaswani et al. 2017 with layer norms before each part. Words are read and predicted by the same table (Press & Wolf
2017). `step` keeps the keys and values of earlier words, and equals `forward`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.types import Forced, Images, State, Step
from tellapart.models.captioners.teacher_forcing import HiddenSequence
from tellapart.models.captioners.transformer_layers import DecoderLayer, EncoderLayer, KeysAndValues
from tellapart.models.inputs import ModelInputs


@dataclass(frozen=True)
class Transformer:
    """Encoder over the cells of an image, decoder over the words, cross-attention between them."""

    width: int = 512
    """Width of cells and words inside the model."""
    heads: int = 8
    """Heads of every attention."""
    encoder_layers: int = 2
    """Layers in which the cells of an image read each other."""
    decoder_layers: int = 3
    """Layers in which words read earlier words and the cells."""
    feed_forward: int = 2048
    """Hidden width of the feed-forward layers."""
    dropout: float = 0.1
    """On attention weights, feed-forward layers, words, and what each layer adds."""
    most_words: int = 64
    """Positions with a vector: the longest caption with its START."""

    def build(self, inputs: ModelInputs) -> TransformerCaptioner:
        """The captioner with random weights."""
        return TransformerCaptioner(self, len(inputs.vocabulary), inputs.feature_width, inputs.feature_rows)


class TransformerCaptioner(nn.Module):
    """Reads feature rows [I, R, D] and predicts words; all hypotheses of an image share its cells."""

    def __init__(self, config: Transformer, words: int, feature_width: int, feature_rows: int) -> None:
        super().__init__()
        width, sizes = config.width, (config.width, config.heads, config.feed_forward, config.dropout)
        self.cells, self.cells_norm = nn.Linear(feature_width, width), nn.LayerNorm(width)
        self.places = nn.Parameter(torch.randn(feature_rows, width) * 0.02)
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(config.encoder_layers))
        self.encoder_norm = nn.LayerNorm(width)
        self.words = nn.Embedding(words, width)
        nn.init.normal_(self.words.weight, std=0.02)  # larger words would at first predict themselves
        self.positions = nn.Parameter(torch.randn(config.most_words, width) * 0.02)
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(config.decoder_layers))
        self.decoder_norm = nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(words))
        self.dropout = nn.Dropout(config.dropout)
        layers = range(config.decoder_layers)
        self.image_state = ("mask", *(f"{kind}{layer}" for layer in layers for kind in ("cell_keys", "cell_values")))
        """Names in the state with one row per image, which all hypotheses of the image share."""

    def encode(self, features: Tensor, mask: Tensor) -> Tensor:
        """The cells after the encoder [I, R, H] of feature rows [I, R, D]."""
        cells = self.dropout(self.cells_norm(self.cells(features)) + self.places[: features.shape[1]])
        keep = mask[:, None, None]  # [I, 1, 1, R]
        for layer in self.encoder:
            cells = layer(cells, keep)
        encoded: Tensor = self.encoder_norm(cells)
        return encoded

    def start(self, images: Images) -> State:
        """The state before the first word."""
        cells = self.encode(images.features, images.mask)
        state: State = {"mask": images.mask}
        for number, layer in enumerate(self.decoder):
            assert isinstance(layer, DecoderLayer)
            keys, values = layer.cross.keys_and_values(cells)
            state |= {f"cell_keys{number}": keys, f"cell_values{number}": values}
            state |= {f"keys{number}": keys[:, :, :0], f"values{number}": values[:, :, :0]}
        return state

    def step(self, word: Tensor, state: State) -> Step:
        """Logits of the next word [N, V] after words [N], the new state, and attention [N, R]."""
        hidden, state, attention = self._advance(word.unsqueeze(1), state)
        return Step(self.logits(hidden[:, 0]), state, attention[:, 0])

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        """Logits [C, T - 1, V] and attention [C, T - 1, R] for given captions [C, T]."""
        read = self.read(self.start(images), tokens)
        return Forced(self.logits(read.hidden), read.attention)

    def read(self, state: State, tokens: Tensor) -> HiddenSequence:
        """Hidden [C, T - 1, H] and attention [C, T - 1, R] of whole captions [C, T], k per image of a new state."""
        hidden, _, attention = self._advance(tokens[:, :-1], state)
        return HiddenSequence(hidden, attention)

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of all words [..., V]."""
        return functional.linear(hidden, self.words.weight, self.bias.to(hidden.dtype))

    def _advance(self, tokens: Tensor, state: State) -> tuple[Tensor, State, Tensor]:
        """Reads tokens [C, T] after those in the state; hidden [C, T, H], the state, attention [C, T, R]."""
        read, steps = state["keys0"].shape[2], tokens.shape[1]
        if read + steps > len(self.positions):
            raise InputError(
                f"This captioner reads up to {len(self.positions)} tokens per caption, not {read + steps}."
            )
        words = self.dropout(self.words(tokens) + self.positions[read : read + steps])
        earlier = torch.ones(steps, read + steps, dtype=torch.bool, device=tokens.device).tril(read)
        keep = state["mask"][:, None, None]
        state, attention = dict(state), words
        for number, layer in enumerate(self.decoder):
            before: KeysAndValues = state[f"keys{number}"], state[f"values{number}"]
            cells: KeysAndValues = state[f"cell_keys{number}"], state[f"cell_values{number}"]
            words, own, attention = layer(words, before if read else None, earlier, cells, keep)
            state[f"keys{number}"], state[f"values{number}"] = own
        return self.decoder_norm(words), state, attention
