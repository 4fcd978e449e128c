"""R2M (Guo et al. 2020; the unsupervised captioning paper): from visual concepts to a caption and back.

The encoder turns the concepts of an image or a sentence into one vector v. The decoder's fusion memory relates v to the
last word, and its recurrent memory carries the state (Eqs. 1-8). The reconstructor reads the decoder's memories and
reconstructs v (Eq. 9). Captions do not use image features: `images.columns["concepts"]` is the only input, except with
`image_input`, for UC-GAN.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.errors import Step as MissingStep
from tellapart.core.types import Forced, Images, State, Step
from tellapart.data.concepts_column import IMAGE_CONCEPTS
from tellapart.data.sampling import LATER
from tellapart.models.captioners.teacher_forcing import HiddenSequence
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.concept_encoder import ConceptEncoder
from tellapart.models.layers.fusion_memory import FusionMemory, PlainFusion
from tellapart.models.layers.recurrent_memory import PlainRecurrence, RecurrentMemory
from tellapart.text.vocabulary import PAD


@dataclass(frozen=True)
class R2M:
    """Recurrent relational memory network: from concepts to a caption (R2M, section 2)."""

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
    """Dropout of the concept encoder's input, and of its output with `vector_dropout`; the memories have none."""
    fusion_memory: bool = True
    """False: a linear layer over v and the word instead of fusion memory (Table 2, "D w/o FM")."""
    decoder_memory: bool = True
    """False: an LSTM instead of the decoder's recurrent memory (Table 2, "D w/o Memory")."""
    reconstructor_memory: bool = True
    """False: an LSTM instead of the reconstructor's recurrent memory (Table 2, "R w/o Memory")."""
    vector_dropout: bool = field(default=True, metadata=LATER)
    """True: v is dropped out, where the decoder reads it and where it is the target of reconstruction. False, as
    released: v is whole in both places."""
    image_input: bool = field(default=False, metadata=LATER)
    """True: captions are generated from the image's pooled features through a linear layer, as in UC-GAN. False: from
    its concepts."""

    def build(self, inputs: ModelInputs) -> R2MModel:
        """The model with random weights."""
        return R2MModel(self, len(inputs.vocabulary), inputs.feature_width)


@dataclass(frozen=True)
class MemoryAttention:
    """Attention of the decoder's memories while it reads captions: what the paper's Figure 5 shows."""

    fusion: Tensor | None  # [C, T - 1, H, 2, 2]: rows and columns are v, then the word
    recurrent: Tensor | None  # [C, T - 1, H, S, S + 1]: over the memory's slots, then over f_t


class R2MModel(nn.Module):
    """See `R2M`."""

    image_state: tuple[str, ...] = ("concepts",)

    def __init__(self, config: R2M, words: int, feature_width: int = 0) -> None:
        super().__init__()
        width, heads = config.width, config.heads
        self.width = width
        self.words = nn.Embedding(words, width, padding_idx=PAD)  # for encoder and decoder
        self.encoder = ConceptEncoder(width, config.dropout, config.dropout if config.vector_dropout else 0.0)
        self.see = nn.Linear(feature_width, width) if config.image_input else None
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
        """v [N, d] of concepts [N, k]: of length one, or zero without concepts."""
        result: Tensor = self.encoder(concepts, self.words(concepts.long()))
        return result

    def encode_images(self, images: Images) -> Tensor:
        """The vector [I, d] that captions of images are generated from: of their concepts, or with `image_input` of
        their features, then of length one."""
        if self.see is not None:
            return functional.normalize(self.see(images.pooled()), dim=1)
        if IMAGE_CONCEPTS not in images.columns:
            raise InputError(
                f"R2M needs the image column '{IMAGE_CONCEPTS}'; annotate concepts and add it to the stage's "
                "sampling.columns.",
                MissingStep("annotate", "PACK", concepts=True),
            )
        return self.encode(images.columns[IMAGE_CONCEPTS])

    def start(self, images: Images) -> State:
        """The state before the first word."""
        return self.begin(self.encode_images(images))

    def begin(self, concepts: Tensor) -> State:
        """The state before the first word, for encoded concepts [N, d]."""
        return {"concepts": concepts, **self.decoder.begin(len(concepts), concepts)}

    def step(self, word: Tensor, state: State) -> Step:
        """Logits of the next word [N, V] after words [N], and the new state."""
        concepts = state["concepts"].repeat_interleave(len(word) // max(len(state["concepts"]), 1), 0)  # [N, d]
        fused, _ = self.fusion(concepts, self.words(word.unsqueeze(1)))  # [N, 1, d]
        memory, after, _ = self.decoder.step(fused, state)
        return Step(self.logits(memory.flatten(1)), {"concepts": state["concepts"], **after})

    def read(self, state: State, tokens: Tensor) -> HiddenSequence:
        """M_t [C, T - 1, S d] after all words but the last: fusion memory at once, recurrent memory step by step."""
        fused, _ = self.fusion(state["concepts"], self.words(tokens[:, :-1]))  # [C, T - 1, d]
        return HiddenSequence(self.decoder.sequence(fused.unsqueeze(2), state).outputs.flatten(2))

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden [..., S d] -> logits [..., V]."""
        result: Tensor = self.predict(hidden)  # Eq. 8 before softmax
        return result

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        """Logits [C, T - 1, V] for given captions [C, T]."""
        return Forced(self.logits(self.read(self.start(images), tokens).hidden))

    def reconstruct(self, hidden: Tensor, lengths: Tensor) -> Tensor:
        """v~ [C, d] from the decoder's memories [C, T - 1, S d] (Eq. 9): the reconstructor's memory at END.

        lengths [C] count START and END, so END is predicted in row lengths - 2.
        """
        incoming = torch.unflatten(hidden, 2, (-1, self.width))  # [C, T - 1, S, d]
        state = self.reconstructor.begin(len(hidden), hidden)
        outputs = self.reconstructor.sequence(incoming, state).outputs.flatten(2)  # [C, T - 1, S' d]
        result: Tensor = self.rebuild(outputs[torch.arange(len(hidden), device=hidden.device), lengths - 2])
        return result

    def memory_attention(self, images: Images, tokens: Tensor) -> MemoryAttention:
        """Attention of both memories of the decoder at each word of given captions [C, T]."""
        state = self.start(images)
        fused, fusion = self.fusion(state["concepts"], self.words(tokens[:, :-1]))
        return MemoryAttention(fusion, self.decoder.sequence(fused.unsqueeze(2), state).weights)
