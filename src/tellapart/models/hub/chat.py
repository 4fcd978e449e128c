"""Chat models that see images (LLaVA, SmolVLM, Qwen-VL, …) as captioners: asked for a caption through their processor.

They generate with transformers' own `generate`. They have no `start` and `step`, so that they are used, not trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.hub import files_only, quietly, transformers
from tellapart.core.model_names import model_folder
from tellapart.core.types import Images
from tellapart.images.preprocessing import Preprocessing
from tellapart.models.decoding.decoded import Decoded
from tellapart.models.hub.reading import OwnReading
from tellapart.models.hub.source import cannot_open, check_tokenizer, open_weights, read_config
from tellapart.models.inputs import ModelInputs
from tellapart.text.model_tokenizer import SHIFT, TokenizerVocabulary
from tellapart.text.vocabulary import END, PAD

PROMPT = "Describe the image in one short sentence."
MOST_PIECES = 60


class ChatProcessor:
    """Images and the prompt as the inputs of a chat model; stands in for an image processor."""

    def __init__(self, processor: Any, prompt: str) -> None:
        self.processor, self.prompt = processor, prompt

    def __call__(self, images: Sequence[np.ndarray]) -> dict[str, Tensor]:
        """Inputs of images [H, W, 3] of uint8, one row per image."""
        from PIL import Image

        opened = [Image.fromarray(np.ascontiguousarray(image)) for image in images]
        found = self.processor(
            text=[self._text()] * len(opened), images=[[one] for one in opened], return_tensors="pt", padding=True
        )
        return {name: _per_image(value, len(opened)) for name, value in found.items() if isinstance(value, Tensor)}

    def preprocessing(self) -> Preprocessing:
        """Chat models read more than squares."""
        raise InputError("A chat model's processor does not make squares of one size.")

    def save(self, folder: Path) -> None:
        """Write the processor's settings."""
        self.processor.save_pretrained(str(folder))

    def _text(self) -> str:
        asked = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": self.prompt}]}]
        if getattr(self.processor, "chat_template", None):
            return str(self.processor.apply_chat_template(asked, add_generation_prompt=True))
        return f"{getattr(self.processor, 'image_token', '<image>')} {self.prompt}"


def _per_image(value: Tensor, images: int) -> Tensor:
    """[I, …]; patches of all images in one row after the other become [I, k, …]."""
    if len(value) == images:
        return value
    if len(value) % images:
        raise InputError("This chat model's processor gives images of different sizes; use a batch size of 1.")
    return value.view(images, -1, *value.shape[1:])


class ChatCaptionerModel(nn.Module):
    """A chat model with its prompt. `own_beams` generates captions; images carry the processor's outputs."""

    image_state = ()
    most_words = MOST_PIECES

    def __init__(self, config: ChatCaptioner, inputs: ModelInputs) -> None:
        super().__init__()
        source = str(inputs.assets or config.source)
        self.reading = config.reading(inputs)
        self.model = open_weights(
            transformers().AutoModelForImageTextToText, source, read_config(source), inputs.load_pretrained
        )
        ends = self.model.generation_config.eos_token_id
        ends = ends if ends is not None else self.reading.vocabulary.tokenizer.eos_token_id
        self.ends = [int(one) for one in (ends if isinstance(ends, list) else [ends])]

    @torch.no_grad()
    def own_beams(self, images: Images, width: int, max_words: int = MOST_PIECES) -> Decoded:
        """`width` captions of each image, best first, by transformers' beam search (greedy for width 1)."""
        given = {name: self._input(name, value) for name, value in images.columns.items()}
        found = self.model.generate(
            **given,
            num_beams=width,
            num_return_sequences=width,
            do_sample=False,
            max_new_tokens=max_words,
            return_dict_in_generate=True,
            output_scores=True,
        )
        read = given["input_ids"].shape[1]
        pieces = found.sequences[:, read:]
        chance = self.model.compute_transition_scores(
            found.sequences, found.scores, getattr(found, "beam_indices", None), normalize_logits=True
        )
        return self._decoded(pieces, chance)

    def _input(self, name: str, value: Tensor) -> Tensor:
        if name == "pixel_values":
            value = value.to(next(self.model.parameters()).dtype)
        plain = ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids")
        together = getattr(self.reading.processor, "processor", None)
        if name in plain or value.dim() < 3 or together is None or not _takes_patches(together):
            return value
        return value.flatten(0, 1)

    def _decoded(self, pieces: Tensor, chance: Tensor) -> Decoded:
        """Pieces [N, T] as tokens with END and PAD, and the log-probability of each caption."""
        ended = torch.isin(pieces, torch.tensor(self.ends, device=pieces.device))
        after = ended.cumsum(1) - ended.long() > 0
        tokens = torch.where(ended, END, pieces + SHIFT).masked_fill(after, PAD)
        if not bool(ended.any(1).all()):
            tokens = functional.pad(tokens, (0, 1))
            last = (tokens != PAD).sum(1)
            open_ = ~ended.any(1)
            tokens[open_, last[open_]] = END
        scores = chance[:, : pieces.shape[1]]
        scores = scores.masked_fill(after[:, : scores.shape[1]] | torch.isinf(scores), 0.0)
        return Decoded(tokens, scores.sum(1))


def _takes_patches(processor: Any) -> bool:
    """Whether a processor gives the patches of all images in one long row (Qwen-VL)."""
    return hasattr(getattr(processor, "image_processor", None), "merge_size")


@dataclass(frozen=True)
class ChatCaptioner:
    """A chat model of `transformers` that sees images, asked for a caption."""

    source: str = ""
    """Folder or hub name."""
    prompt: str = PROMPT
    """What it is asked."""

    def build(self, inputs: ModelInputs) -> ChatCaptionerModel:
        """The model with its weights."""
        return ChatCaptionerModel(self, inputs)

    def reading(self, inputs: ModelInputs | None = None) -> OwnReading:
        """The model's tokenizer, and its processor with the prompt."""
        folder = model_folder(str((inputs and inputs.assets) or self.source))
        check_tokenizer(folder)
        try:
            with quietly():
                processor = transformers().AutoProcessor.from_pretrained(folder, local_files_only=files_only(folder))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError) as error:
            raise InputError(cannot_open(self.source, error)) from error
        tokenizer = getattr(processor, "tokenizer", None)
        if tokenizer is None:
            raise InputError(f"'{self.source}' has no tokenizer; save its processor into the model's folder.")
        tokenizer.padding_side = "left"
        size = len(tokenizer)
        return OwnReading(TokenizerVocabulary(tokenizer, size), ChatProcessor(processor, self.prompt))  # type: ignore[arg-type]

    def configuration(self, inputs: ModelInputs | None = None) -> Any:
        """The model's configuration of transformers."""
        return read_config(str((inputs and inputs.assets) or self.source))
