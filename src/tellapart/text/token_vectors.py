"""One vector per piece of a text, from any encoder that `transformers` opens from a folder or a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.text.sentence_targets import MINILM, encoder_folder


@dataclass(frozen=True)
class TokenVectors:
    """The pieces of one text as an encoder sees them, special pieces included."""

    pieces: np.ndarray  # [T] ids
    vectors: np.ndarray  # [T, d], length one
    special: np.ndarray  # [T] bool: pieces that the tokenizer adds


class TokenEncoder:
    """Encodes texts piece by piece.

    Args:
        model: `minilm` (all-MiniLM-L6-v2), or a folder or name of an encoder of transformers; the text side of a dual
            encoder (CLIP) and the encoder of an encoder-decoder (T5) count, too.
        layer: whose output is taken: 1 is the first, 0 the word table, -1 the last.
        device: cpu, cuda, ….
        batch: texts encoded at once.
    """

    def __init__(self, model: str = MINILM, layer: int = -1, device: str = "cpu", batch: int = 64) -> None:
        try:
            from transformers import AutoModel, AutoTokenizer
            from transformers.utils import logging
        except ImportError as error:
            raise InputError("A text encoder needs transformers; run `pip install transformers`.") from error
        folder = encoder_folder(model.removeprefix("hf:"))
        local = Path(folder).is_dir()
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # loading takes a second
        try:
            self.tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=local)
            whole, loaded = AutoModel.from_pretrained(folder, local_files_only=local, output_loading_info=True)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            why = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"'{model}' cannot be opened as a text encoder ({why}); give a folder with a model and its tokenizer."
            ) from error
        self.encoder = _text_side(whole, model, set(loaded["missing_keys"])).to(device).eval()
        self.device, self.batch = device, batch
        layers = int(self.encoder.config.num_hidden_layers)
        if not -layers - 1 <= layer <= layers:
            raise InputError(f"Layer {layer} does not exist: '{model}' has {layers} layers.")
        self.layer = layer
        most = getattr(self.encoder.config, "max_position_embeddings", None) or self.tokenizer.model_max_length
        self.longest = min(int(most), int(self.tokenizer.model_max_length), 512)
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token

    def __call__(self, texts: Sequence[str]) -> list[TokenVectors]:
        """The pieces of each text, in order. Texts longer than the encoder reads are cut."""
        distinct = sorted(set(texts), key=lambda text: (-len(text), text))  # little padding
        found: dict[str, TokenVectors] = {}
        for first in range(0, len(distinct), self.batch):
            some = distinct[first : first + self.batch]
            found.update(zip(some, self._encoded(some)))
        return [found[text] for text in texts]

    def _encoded(self, texts: Sequence[str]) -> list[TokenVectors]:
        import torch

        tokens = self.tokenizer(
            list(texts), padding=True, truncation=True, max_length=self.longest, return_special_tokens_mask=True
        )
        special = np.asarray(tokens.pop("special_tokens_mask"), bool)
        given = {name: torch.tensor(value, device=self.device) for name, value in tokens.items()}
        with torch.inference_mode():
            hidden = self.encoder(**given, output_hidden_states=True).hidden_states[self.layer].float()  # [B, T, d]
            vectors = torch.nn.functional.normalize(hidden, dim=-1).cpu().numpy()
        kept = np.asarray(tokens["attention_mask"], bool)
        pieces = np.asarray(tokens["input_ids"])
        return [
            TokenVectors(pieces[row][mask], vectors[row][mask], special[row][mask]) for row, mask in enumerate(kept)
        ]


def _text_side(model: Any, name: str, missing: set[str]) -> Any:
    """The part of a model that encodes text; InputError if it has none, or none with weights."""
    side = model.get_encoder() if getattr(model.config, "is_encoder_decoder", False) else model
    side = getattr(side, "text_model", side)
    names = {id(parameter): one for one, parameter in model.named_parameters()}
    needed = {names[id(parameter)] for one, parameter in side.named_parameters() if "pooler" not in one}
    if not hasattr(side.config, "num_hidden_layers") or needed & missing:
        raise InputError(f"'{name}' is not a text encoder; give a model that encodes text, such as BERT or MiniLM.")
    return side
