"""NeuralTalk2 (Karpathy and Fei-Fei; contrastive captioning paper, section 5.2): the image is an LSTM's first word."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.types import Forced, Images, State, Step
from tellapart.models.captioners.image_projection import ImageProjection
from tellapart.models.captioners.lstm_gates import lstm_step
from tellapart.models.captioners.teacher_forcing import HiddenSequence, HiddenStep, per_distinct_word, repeat_per_image
from tellapart.models.captioners.word_table import WordTable
from tellapart.models.inputs import ModelInputs


@dataclass(frozen=True)
class NeuralTalk2:
    """NeuralTalk2: one LSTM; the image enters once, before the first word."""

    hidden: int = 512
    """Width of the LSTM and of the words."""
    dropout: float = 0.5
    """Dropout of the LSTM's output, before words are predicted."""
    word_dropout: float = 0.0
    """Dropout of the input word vectors; the paper's model has none."""
    scaling: str = "none"
    """Scaling of image features: none, layer (each row standardised) or unit (each row to length one)."""
    tied: bool = False
    """Use one table to embed and to predict words."""

    def build(self, inputs: ModelInputs) -> NeuralTalk2Model:
        """The model with random weights."""
        return NeuralTalk2Model(self, len(inputs.vocabulary), inputs.feature_width)


class NeuralTalk2Model(nn.Module):
    """See `NeuralTalk2`."""

    image_state: tuple[str, ...] = ()

    def __init__(self, config: NeuralTalk2, words: int, feature_width: int) -> None:
        super().__init__()
        self.image = ImageProjection(feature_width, config.hidden, dropout=0.0, scaling=config.scaling)
        self.words = WordTable(words, config.hidden, config.hidden, config.tied)
        self.lstm = nn.LSTM(config.hidden, config.hidden, batch_first=True)
        self.word_dropout = nn.Dropout(config.word_dropout)
        self.dropout = nn.Dropout(config.dropout)

    def start(self, images: Images) -> State:
        """The LSTM's state after it has read the image; its prediction at that step is not used."""
        image = self.image(images.pooled())  # [N, H]
        hidden, cell = lstm_step(self._gates(image), torch.zeros_like(image))
        return {"hidden": hidden, "cell": cell}  # [N, H] each

    def step(self, word: Tensor, state: State) -> Step:
        """Logits of the next word [N, V] after words [N], and the new state."""
        word_input = self.advance(
            self.word_input(word) if self.training else per_distinct_word(self.word_input, word), state
        )
        return Step(self.logits(word_input.hidden), word_input.state)

    def word_input(self, words: Tensor) -> Tensor:
        """The share of words [n] and biases in the gates [n, 4H]."""
        return self._gates(self.word_dropout(self.words(words)))

    def advance(self, word_input: Tensor, state: State) -> HiddenStep:
        """One step of the LSTM."""
        before = state["hidden"]
        gates = torch.addmm(repeat_per_image(word_input, len(before)), before, self.lstm.all_weights[0][1].T)
        hidden, cell = lstm_step(gates, state["cell"])
        return HiddenStep(self.dropout(hidden), {"hidden": hidden, "cell": cell})

    def read(self, state: State, tokens: Tensor) -> HiddenSequence:
        """Hidden vectors [C, T - 1, H] after all words but the last, in one pass of the LSTM."""
        memory = (state["hidden"].unsqueeze(0).contiguous(), state["cell"].unsqueeze(0).contiguous())
        return HiddenSequence(self.dropout(self.lstm(self.word_dropout(self.words(tokens[:, :-1])), memory)[0]))

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden [..., H] -> logits [..., V]."""
        return self.words.logits(hidden)

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        """Logits [C, T - 1, V] for given captions [C, T]."""
        return Forced(self.logits(self.read(self.start(images), tokens).hidden))

    def _gates(self, read: Tensor) -> Tensor:
        """The share of the LSTM's input [N, H] and biases in its gates [N, 4H]."""
        of_input, _, input_bias, hidden_bias = self.lstm.all_weights[0]
        return functional.linear(read, of_input, input_bias + hidden_bias)
