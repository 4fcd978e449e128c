"""A matcher's run as the judge of captions of a pack's images, by features that the pack has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.protocols import Matcher
from tellapart.core.types import Images, Texts
from tellapart.data.batches import Batches
from tellapart.data.pack import Pack
from tellapart.evaluation.judged import judge_picks
from tellapart.inference.texts import as_texts
from tellapart.runs.context import store_like
from tellapart.runs.run import Run, open_run


@dataclass(frozen=True)
class PackJudge:
    """A matcher that reads a pack's images and any text."""

    run: Run
    matcher: Matcher
    batches: Batches

    def picks(self, image_rows: np.ndarray, captions: Sequence[str], similar: np.ndarray) -> Tensor:
        """[I] bool: the judge picks each image of the pack from its caption, among it and its look-alikes [I, k]."""

        def images(rows: np.ndarray) -> Images:
            return self.batches.images(image_rows[rows])

        def texts(some: Sequence[str]) -> Texts:
            return as_texts(self.run, some, self.batches.device, allow_unknown=True)

        return judge_picks(self.matcher, images, texts, captions, similar)

    def __call__(self, image_rows: np.ndarray, captions: Sequence[str], similar: np.ndarray) -> dict[str, float]:
        """Judge accuracy in percent, and how many images a caption must tell apart."""
        found = self.picks(image_rows, captions, similar)
        return {"judge_accuracy": 100 * float(found.double().mean()), "judge_among": 1.0 + similar.shape[1]}


def open_pack_judge(
    folder: Path | str, pack: Pack, features: str | None = None, device: torch.device | str = "cpu"
) -> PackJudge:
    """A matcher's run for the images of a pack; raises if the pack has not the features that it reads."""
    run = open_run(folder, device=device)
    if not isinstance(run.model, Matcher):
        raise InputError(f"{run.folder} is a {run.recipe.name} run, not a matcher; give a matcher's run as `judge`.")
    if run.data["features"] is None:
        raise InputError(f"{run.folder} reads pixels; a judge reads features of the pack. Give another matcher.")
    store = store_like(run, run.data["features"], pack, features)
    return PackJudge(run, run.model.eval(), Batches(pack, store, (), torch.device(device)))
