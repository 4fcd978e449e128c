"""What an objective or an evaluation may know of its run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn

from tellapart.core.errors import InputError
from tellapart.data.batches import Batches
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.models.inputs import ModelInputs
from tellapart.objectives.caption_judge import CaptionJudge
from tellapart.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Context:
    """Pack, features, batches and earlier models of a run."""

    pack: Pack
    inputs: ModelInputs
    batches: Batches
    """Makes a `Batch` of any rows of the pack, with the columns and pixels that the stage asks for."""
    store: FeatureStore | None
    device: torch.device
    train_split: str = "train"
    models: dict[str, nn.Module] = field(default_factory=dict)
    """Finished models of this recipe's earlier stages, by stage name; `previous` is the last one."""
    load_run: Callable[[str], tuple[nn.Module, Vocabulary]] | None = None
    """Opens a run folder; the training layer provides it, so that objectives need not know run folders."""

    load_judge: Callable[[str], CaptionJudge] | None = None
    """Opens a matcher that judges captions as text; the training layer provides it."""
    batch: int = 0
    """Images, or captions, that an evaluation reads at once; 0: as many as suits it."""

    def at_once(self, usual: int) -> int:
        """How many images, or captions, an evaluation reads at once that reads `usual` by default."""
        return self.batch or usual

    def model(self, name: str) -> nn.Module:
        """A frozen model in eval mode: an earlier stage by name, or a run folder by path.

        A run folder with another vocabulary raises an error: its word ids would mean other words.
        """
        if name in self.models:
            model = self.models[name]
        elif self.load_run is not None:
            model, vocabulary = self.load_run(name)
            if vocabulary.words != self.inputs.vocabulary.words:
                raise InputError(
                    f"{name} was trained with another vocabulary ({len(vocabulary)} words, here "
                    f"{len(self.inputs.vocabulary)}). Train it on this pack, or prepare this pack with its vocabulary."
                )
        else:
            raise InputError(f"Unknown stage or run '{name}'; earlier stages: {', '.join(self.models) or 'none'}.")
        model = model.to(self.device).eval()
        for parameter in model.parameters():
            parameter.requires_grad_(False)
        return model
