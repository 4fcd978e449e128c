"""A hash of a model: equal for equal weights and equal words, wherever the model's folder is."""

from __future__ import annotations

import hashlib
from pathlib import Path

OF_RUN = ("model.safetensors", "vocabulary.json")
OF_HUB = (
    "config.json",
    "*.safetensors",
    "*.bin",
    "tokenizer*",
    "vocab*",
    "merges*",
    "*.model",
    "preprocessor_config.json",
)
"""Files of a model of transformers that change its vectors."""


def fingerprint(folder: Path) -> str:
    """A hash of the weights and the vocabulary of a run, or of a model of transformers."""
    if (folder / OF_RUN[0]).is_file() and (folder / OF_RUN[1]).is_file():
        files = [folder / name for name in OF_RUN]
    else:
        files = sorted({path for pattern in OF_HUB for path in folder.glob(pattern) if path.is_file()})
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:32]
