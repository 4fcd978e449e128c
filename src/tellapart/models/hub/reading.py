"""What a pretrained model reads: text through its own tokenizer, images through its own processor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tellapart.core.errors import InputError
from tellapart.core.model_names import model_folder
from tellapart.models.hub.source import open_tokenizer, read_config
from tellapart.models.inputs import ModelInputs
from tellapart.text.model_tokenizer import TokenizerVocabulary

if TYPE_CHECKING:
    from tellapart.images.own_processor import OwnProcessor

FOLDER = "hub"
"""In a run folder: configuration, tokenizer and image processor of the model that the run began with."""


@dataclass(frozen=True)
class OwnReading:
    """Tokenizer and image processor of a model."""

    vocabulary: TokenizerVocabulary
    processor: OwnProcessor | None
    """None: the model's folder has none, and batches have pixels."""

    def __deepcopy__(self, memo: dict[int, Any]) -> OwnReading:
        return self  # it never changes, and copies of a model share it

    def save(self, folder: Path, config: Any) -> None:
        """Write configuration, tokenizer and processor, so that the model can be built again from the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        config.save_pretrained(str(folder))
        self.vocabulary.tokenizer.save_pretrained(str(folder))
        if self.processor is not None:
            self.processor.save(folder)


class HubModel:
    """Settings of a model of `transformers`: where it comes from decides how it reads."""

    source: str
    """Folder or hub name."""

    def reading(self, inputs: ModelInputs | None = None) -> OwnReading:
        """The model's own tokenizer and image processor."""
        assets = None if inputs is None else inputs.assets
        return open_reading(str(assets or self.source))

    def configuration(self, inputs: ModelInputs | None = None) -> Any:
        """The model's configuration of transformers."""
        assets = None if inputs is None else inputs.assets
        return read_config(str(assets or self.source))


def open_reading(source: str) -> OwnReading:
    """The tokenizer and the processor of a model's folder or hub name; the same object for the same folder."""
    folder = model_folder(source)
    path = Path(folder) / "config.json"
    return _opened(folder, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(maxsize=8)
def _opened(folder: str, changed: int) -> OwnReading:
    config = read_config(folder)
    text = getattr(config, "text_config", None) or getattr(config, "decoder", None) or config
    vocabulary = TokenizerVocabulary(open_tokenizer(folder), int(getattr(text, "vocab_size", 0) or 0))
    from tellapart.images.own_processor import open_processor  # needs Pillow

    return OwnReading(vocabulary, open_processor(folder))


def needed_processor(reading: OwnReading, source: str) -> OwnProcessor:
    """The image processor; InputError if the model has none."""
    if reading.processor is None:
        raise InputError(
            f"{source} has no image processor (preprocessor_config.json), so that it is not known how it sees images; "
            "save the processor into the model's folder."
        )
    return reading.processor
