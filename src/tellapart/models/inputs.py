"""What a model must know of the data to be built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tellapart.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class ModelInputs:
    """What a model must know of the data to be built. A run folder stores it, so a run alone rebuilds its model."""

    vocabulary: Vocabulary
    feature_width: int
    feature_rows: int = 1
    """The most feature rows of an image."""
    load_pretrained: bool = True
    """False when a checkpoint is about to replace all weights: pretrained parts are not loaded."""
    assets: Path | None = None
    """A run's folder with the configuration, tokenizer and image processor of its pretrained model, if it has one."""
