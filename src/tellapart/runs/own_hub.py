"""This package's own models in the hub's format: classes that `transformers` opens once `register` has run.

The folder is a run folder with a config.json. `hf:FOLDER` opens it as a run; after `register()`,
`AutoModel.from_pretrained(FOLDER)` gives the model without remote code.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tellapart.core.hub import transformers
from tellapart.core.types import Images
from tellapart.models.decoding import beam
from tellapart.models.hub.source import OWN
from tellapart.runs.run import Run, open_run
from tellapart.runs.texts import as_texts
from tellapart.text.written import as_written


@functools.cache
def classes() -> dict[str, tuple[Any, Any]]:
    """(configuration class, model class) by model_type. They are made here, so that transformers is not needed
    before."""
    library = transformers()
    return {kind: _classes(library, kind, base) for kind, base in zip(OWN, (MatcherMethods, CaptionerMethods))}


def register() -> None:
    """Let AutoConfig and AutoModel open this package's models. Calling it twice changes nothing."""
    library = transformers()
    for kind, (config, model) in classes().items():
        library.AutoConfig.register(kind, config, exist_ok=True)
        library.AutoModel.register(config, model, exist_ok=True)


class OwnMethods:
    """What both models share: they are opened as runs."""

    run: Run

    @classmethod
    def from_pretrained(cls, folder: str | Path, *rest: Any, config: Any = None, **options: Any) -> Any:
        """The model of a folder."""
        run = open_run(Path(folder))
        made = cls(config or classes()[_kind(cls)][0].from_pretrained(str(folder)))  # type: ignore[call-arg]
        made.run = run
        made.add_module("model", run.model)  # type: ignore[attr-defined]
        return made.eval()  # type: ignore[attr-defined]


class MatcherMethods(OwnMethods):
    """A matcher: vectors of feature rows and of texts."""

    def get_image_features(self, features: Tensor) -> Tensor:
        """Vectors [I, E] of feature rows [I, R, D]."""
        mask = torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)
        found: Tensor = self.run.model.encode_image(Images(features, mask)).vectors  # type: ignore[operator]
        return found

    def get_text_features(self, texts: list[str]) -> Tensor:
        """Vectors [C, E] of texts."""
        device = next(self.run.model.parameters()).device
        found: Tensor = self.run.model.encode_text(as_texts(self.run, texts, device)).vectors  # type: ignore[operator]
        return found

    def forward(self, features: Tensor, texts: list[str]) -> Tensor:
        """Scores [I, C]."""
        return self.get_image_features(features) @ self.get_text_features(texts).t()


class CaptionerMethods(OwnMethods):
    """A captioner: captions of feature rows."""

    def generate(self, features: Tensor, num_beams: int = 3, max_new_tokens: int = 20) -> list[str]:
        """Captions of feature rows [I, R, D]."""
        mask = torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)
        found = beam(self.run.model, Images(features, mask), num_beams, max_words=max_new_tokens)  # type: ignore[arg-type]
        return [as_written(self.run.vocabulary.decode(row)) for row in found.tokens.tolist()]

    def forward(self, features: Tensor, tokens: Tensor) -> Tensor:
        """Scores of the next words [C, T - 1, V] of given captions [C, T]."""
        mask = torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)
        found: Tensor = self.run.model(Images(features, mask), tokens).logits
        return found


def _classes(library: Any, kind: str, methods: type[OwnMethods]) -> tuple[Any, Any]:
    name = "Tellapart" + kind.removeprefix("tellapart-").capitalize()
    base = getattr(library, "PretrainedConfig", None) or library.PreTrainedConfig
    config = type(f"{name}Config", (base,), {"model_type": kind, "__module__": __name__})
    model = type(name, (methods, library.PreTrainedModel), {"config_class": config, "__module__": __name__})
    return config, model


def _kind(cls: type[Any]) -> str:
    return str(cls.config_class.model_type)
