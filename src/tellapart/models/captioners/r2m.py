"""R2M (Guo et al. 2020; the unsupervised captioning paper): visual concepts to a sentence, through memories, and
back.

The encoder makes one vector v of an image's or a sentence's concepts; the decoder's fusion memory relates v to the
last word and its recurrent memory carries the sentence on (Eqs. 1-8); the reconstructor reads the decoder's memories
and must find v again (Eq. 9). An image's features are not read to write a sentence: `images.columns["concepts"]` is
all that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.types import Forced, Images, State, Step
from tellapart.data.concepts_column import IMAGE_CONCEPTS
from tellapart.models.captioners.teacher_forcing import HiddenSequence
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.concept_encoder import ConceptEncoder
from tellapart.models.layers.memory import FusionMemory, PlainFusion, PlainRecurrence, RecurrentMemory
from tellapart.text.vocabulary import PAD


@dataclass(frozen=True)
class R2M:
    """Recurrent relational memory network: concepts to sentence (R2M, section 2)."""

    width: int = 512
    """Width d of word vectors, of the concept LSTM and of a memory slot."""
    slots: int = 1
    """Memory slots N."""
    heads: int = 2
    """Heads H of both memories."""
    key_width: int = 256
    """Width of a head's queries and keys."""
    value_width: int = 256
    """Width of a head's values; heads * value_width must be `width`."""
    dropout: float = 0.2
    """On the concept encoder's input and output; the memories have none."""
    fusion_memory: bool = True
    """False: a linear layer over v and the word in fusion memory's place (Table 2, "D w/o FM")."""
    decoder_memory: bool = True
    """False: an LSTM in the decoder's recurrent memory's place (Table 2, "D w/o Memory")."""
    reconstructor_memory: bool = True
    """False: an LSTM in the reconstructor's recurrent memory's place (Table 2, "R w/o Memory")."""

    def build(self, inputs: ModelInputs) -> R2MModel:
        return R2MModel(self, len(inputs.vocabulary))


@dataclass(frozen=True)
class MemoryAttention:
    """Where the decoder's memories looked as it read a sentence: what the paper's Figure 5 draws."""

    fusion: Tensor | None  # [C, T - 1, H, 2, 2]: rows and columns are v, then the word
    recurrent: Tensor | None  # [C, T - 1, H, S, S + 1]: over the memory's slots, then over f_t


class R2MModel(nn.Module):
    image_state: tuple[str, ...] = ("concepts",)

    def __init__(self, config: R2M, words: int) -> None:
        super().__init__()
        width, heads = config.width, config.heads
        self.width = width
        self.words = nn.Embedding(words, width, padding_idx=PAD)  # read by encoder and decoder alike
        self.encoder = ConceptEncoder(width, config.dropout)
        self.fusion: FusionMemory | PlainFusion = (
            FusionMemory(width, heads, config.key_width, config.value_width)
            if config.fusion_memory
            else PlainFusion(width)
        )
        self.decoder: RecurrentMemory | PlainRecurrence = (
            RecurrentMemory(width, config.slots, heads, config.key_width, config.value_width)
            if config.decoder_memory
            else PlainRecurrence(width)
        )
        rows = self.decoder.slots
        self.reconstructor: RecurrentMemory | PlainRecurrence = (
            RecurrentMemory(width, config.slots, heads, config.key_width, config.value_width, rows)
            if config.reconstructor_memory
            else PlainRecurrence(width, rows)
        )
        self.rebuild = (
            nn.Identity() if self.reconstructor.slots == 1 else nn.Linear(self.reconstructor.slots * width, width)
        )
        self.predict = nn.Linear(rows * width, words)  # W_d of Eq. 8
        nn.init.uniform_(self.words.weight, -0.08, 0.08)
        nn.init.uniform_(self.predict.weight, -0.08, 0.08)
        nn.init.zeros_(self.predict.bias)
        with torch.no_grad():
            self.words.weight[PAD] = 0

    def encode(self, concepts: Tensor) -> Tensor:
        """v [N, d] of concepts [N, k]: length one, or zero where there is no concept."""
        return self.encoder(concepts, self.words(concepts.long()))

    def start(self, images: Images) -> State:
        if IMAGE_CONCEPTS not in images.columns:
            raise InputError(
                f"R2M reads the column '{IMAGE_CONCEPTS}' of images, and it is not there; "
                "make it with `tellapart annotate PACK --concepts` and name it in the stage's sampling.columns."
            )
        return self.begin(self.encode(images.columns[IMAGE_CONCEPTS]))

    def begin(self, concepts: Tensor) -> State:
        """The state before the first word, for concepts already encoded [N, d]."""
        return {"concepts": concepts, **self.decoder.begin(len(concepts), concepts)}

    def step(self, word: Tensor, state: State) -> Step:
        concepts = state["concepts"].repeat_interleave(len(word) // max(len(state["concepts"]), 1), 0)  # [N, d]
        fused, _ = self.fusion(concepts, self.words(word.unsqueeze(1)))  # [N, 1, d]
        memory, after, _ = self.decoder.step(fused, state)
        return Step(self.logits(memory.flatten(1)), {"concepts": state["concepts"], **after})

    def read(self, state: State, tokens: Tensor) -> HiddenSequence:
        """All words but the last: fusion memory at once, recurrent memory step by step. Rows are M_t, slots side by
        side."""
        fused, _ = self.fusion(state["concepts"], self.words(tokens[:, :-1]))  # [C, T - 1, d]
        return HiddenSequence(self.decoder.sequence(fused.unsqueeze(2), state).outputs.flatten(2))

    def logits(self, hidden: Tensor) -> Tensor:
        return self.predict(hidden)  # Eq. 8 before softmax

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        return Forced(self.logits(self.read(self.start(images), tokens).hidden))

    def reconstruct(self, hidden: Tensor, lengths: Tensor) -> Tensor:
        """v~ [C, d] from the decoder's memories [C, T - 1, S d] (Eq. 9): the reconstructor's memory where END was
        predicted.

        lengths count START and END, so END was predicted in row lengths - 2.
        """
        incoming = hidden.unflatten(2, (-1, self.width))  # [C, T - 1, S, d]
        state = self.reconstructor.begin(len(hidden), hidden)
        outputs = self.reconstructor.sequence(incoming, state).outputs.flatten(2)  # [C, T - 1, S' d]
        return self.rebuild(outputs[torch.arange(len(hidden), device=hidden.device), lengths - 2])

    def memory_attention(self, images: Images, tokens: Tensor) -> MemoryAttention:
        """Attention of both memories of the decoder for each word of given sentences."""
        state = self.start(images)
        fused, fusion = self.fusion(state["concepts"], self.words(tokens[:, :-1]))
        return MemoryAttention(fusion, self.decoder.sequence(fused.unsqueeze(2), state).weights)
