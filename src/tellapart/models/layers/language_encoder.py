"""Pretrained language encoders (BERT, MiniLM, CLIP's text side, …) without a tokeniser at run time.

Each word of the vocabulary is split into the encoder's word pieces once. A batch of captions then becomes pieces by
indexing, on the device, and the table is stored with the weights.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.types import Texts
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.transformers_model import open_transformers_model
from tellapart.text.vocabulary import END, PAD, START, UNK, Vocabulary


class WordPieces(nn.Module):
    """Turns token ids of the vocabulary into an encoder's piece ids.

    The table is built from single words: a tokeniser that splits at spaces gives the same pieces inside a sentence.
    UNK becomes the encoder's unknown piece, or nothing if that piece also marks an end.
    """

    table: Tensor
    counts: Tensor

    def __init__(self, pieces: list[list[int]], padding: int) -> None:
        super().__init__()
        self.padding = padding
        widest = max(len(word) for word in pieces)
        table = torch.tensor([word + [padding] * (widest - len(word)) for word in pieces])
        self.register_buffer("table", table)  # [V, P]
        self.register_buffer("counts", torch.tensor([len(word) for word in pieces]))  # [V]

    @classmethod
    def of_tokeniser(cls, tokeniser: Any, vocabulary: Vocabulary) -> WordPieces:
        """The table for a vocabulary."""
        first, last = _ends(tokeniser)
        unknown = [] if tokeniser.unk_token_id is None else [int(tokeniser.unk_token_id)]
        if unknown and unknown[0] in (tokeniser.eos_token_id, *first, *last):
            unknown = []  # CLIP's unknown piece is its end: a text would end at its first unknown word
        lead = tokeniser("a", add_special_tokens=False)["input_ids"]
        words = list(vocabulary.words[UNK + 1 :])
        # Split each word after another one: tokenisers that mark spaces then see a space before it.
        cut = tokeniser([f"a {word}" for word in words], add_special_tokens=False)["input_ids"] if words else []
        pieces = [list(map(int, ids[len(lead) :])) for ids in cut]
        special = {PAD: [], START: first, END: last, UNK: unknown}
        padding = tokeniser.pad_token_id if tokeniser.pad_token_id is not None else 0
        return cls([special[index] for index in (PAD, START, END, UNK)] + pieces, int(padding))

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """tokens [C, T] -> piece ids [C, L] and their mask [C, L]."""
        pieces = self.table[tokens].flatten(1)  # [C, T P]
        steps = torch.arange(self.table.shape[1], device=tokens.device)
        real = (steps < self.counts[tokens].unsqueeze(-1)).flatten(1)  # [C, T P]
        order = (~real).long().argsort(dim=1, stable=True)
        longest = int(real.sum(1).max().item())
        order = order[:, :longest]
        return pieces.gather(1, order), real.gather(1, order)


def _ends(tokeniser: Any) -> tuple[list[int], list[int]]:
    """The pieces that the tokeniser adds before and after a sentence."""
    bare = tokeniser("a", add_special_tokens=False)["input_ids"]
    whole = tokeniser("a")["input_ids"]
    for start in range(len(whole) - len(bare) + 1):
        if whole[start : start + len(bare)] == bare:
            return list(whole[:start]), list(whole[start + len(bare) :])
    return [], []


class LanguageEncoder(nn.Module):
    """A `transformers` text encoder by folder or name.

    Args:
        source: a folder, a hub name, or `minilm` (all-MiniLM-L6-v2 from its PyPI package).
        layers: number of first layers to keep; 0 keeps all. TERN keeps 6 of BERT-base.
    """

    def __init__(self, source: str, inputs: ModelInputs, layers: int = 0) -> None:
        super().__init__()
        self.model, tokeniser = open_language_model(source, inputs.load_pretrained)
        if layers:
            stack = getattr(getattr(self.model, "encoder", None), "layer", None)
            if not isinstance(stack, nn.ModuleList):
                raise InputError(
                    f"'{source}' is a {type(self.model).__name__}, which cannot be cut to its first {layers} layers; "
                    "keep them all with text_layers=0."
                )
            self.model.encoder.layer = stack[:layers]
        if getattr(self.model, "pooler", None) is not None:
            self.model.pooler = None  # unused: states are read directly
        self.pieces = WordPieces.of_tokeniser(tokeniser, inputs.vocabulary)
        self.width = int(self.model.config.hidden_size)

    def forward(self, texts: Texts) -> tuple[Tensor, Tensor]:
        """States [C, L, H] and their mask [C, L]."""
        pieces, mask = self.pieces(texts.tokens)
        return self.model(input_ids=pieces, attention_mask=mask.long()).last_hidden_state, mask


def open_language_model(source: str, pretrained: bool) -> tuple[Any, Any]:
    """(model, tokeniser) of a folder, a hub name or `minilm`; with random weights unless `pretrained`."""
    from tellapart.text.sentence_targets import encoder_folder

    return open_transformers_model(encoder_folder(source), pretrained, "text encoder")
