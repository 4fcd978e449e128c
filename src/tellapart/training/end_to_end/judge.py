"""A matcher trained apart from the bundled models, which judges whether captions tell images apart.

It shares no weights with them: another backbone, a recurrent text encoder over whole words that starts at random, and
another seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tellapart.core.device import usable_device
from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.features.backbones import Backbone
from tellapart.models.inputs import ModelInputs
from tellapart.models.matchers.dual_encoder import DualEncoder
from tellapart.training.end_to_end.data import TrainingSet, read_training_set
from tellapart.training.end_to_end.drawing import HardNegatives
from tellapart.training.end_to_end.joint import JointModel
from tellapart.training.end_to_end.loop import Log, Settings, Training, mixed_precision
from tellapart.training.end_to_end.optimiser import Rates
from tellapart.training.end_to_end.pixels import PixelStore
from tellapart.training.end_to_end.rewards import nearest
from tellapart.training.end_to_end.runs import save_matcher
from tellapart.training.end_to_end.train import backbone_to_tune, cells_of, no_log

HALVES = {"all": slice(None), "even": slice(0, None, 2), "odd": slice(1, None, 2)}


@dataclass(frozen=True)
class JudgeTraining:
    """Settings of the judge; the defaults are those of docs/look-alikes.md."""

    backbone: str = "efficientnet-lite0"
    """The backbone to tune."""
    stored: int = 224
    """Side in pixels of the images kept on the device."""
    matcher: DualEncoder = field(
        default_factory=lambda: DualEncoder(text="gru", start="", text_width=300, feed_forward=512)
    )
    """The matcher."""
    training: Settings = field(
        default_factory=lambda: Settings(
            size=224,
            seconds=700,
            most_steps=2340,
            described=1,
            average=0.998,
            compiled=False,
            rates=Rates(text=1e-3, rest=1e-3),
        )
    )
    """Batches, steps and learning rates."""
    look_alikes: float = 0.0
    """Share of every batch that is look-alikes of its other images: hard negatives. From 0 to below 1."""
    nearest: int = 9
    """How many look-alikes of an image there are: its nearest by pooled features of the backbone before it is tuned."""
    images: Literal["all", "even", "odd"] = "all"
    """Training images: all, or every second one, so that a judge and the models that it judges can learn from
    different ones."""
    seed: int = 7
    """Random seed."""


def train_judge(
    data: Path | str,
    out: Path | str,
    settings: JudgeTraining | None = None,
    device: str = "cpu",
    log: Log | None = None,
    given: TrainingSet | None = None,
) -> Path:
    """Train on the training split of a pack and write OUT/matcher; returns OUT.

    given: its images and captions, where they have been read for another judge.
    """
    settings, log, used = settings or JudgeTraining(), log or no_log, usable_device(device)
    if not 0 <= settings.look_alikes < 1:
        raise InputError(f"`look_alikes` must be a share from 0 to below 1, not {settings.look_alikes}.")
    if settings.nearest < 1:
        raise InputError(
            f"The nearest images must be at least 1, not {settings.nearest}; set `look_alikes` to 0 for none."
        )
    torch.manual_seed(settings.seed)
    pack = Pack(data)
    backbone = backbone_to_tune(settings.backbone)
    given = given or read_training_set(pack, None, settings.stored, used)
    given.store.read_as(backbone.preprocessing)
    rows = given.rows()[HALVES[settings.images]]
    inputs = ModelInputs(pack.vocabulary, backbone.width, cells_of(settings.training.size))
    model = JointModel(backbone.network, settings.matcher.build(inputs), None).to(used)
    model.backbone.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    training = Training(model, given.store, given.pieces, given.words, settings.training, log)
    if settings.look_alikes:
        training.hard = HardNegatives(_neighbours(backbone, given.store, rows, settings), settings.look_alikes)
    log(f"{training.run(lambda: rows, lambda model, step: None)} steps")
    averaged: JointModel = training.average.model  # type: ignore[assignment]
    return save_matcher(Path(out), averaged, settings.matcher, pack, settings.backbone, settings.training.size)


@torch.no_grad()
def _neighbours(backbone: Backbone, store: PixelStore, rows: np.ndarray, settings: JudgeTraining) -> Tensor:
    """[I, k] rows of the images most like each image; those of images that are not among `rows` are not used."""
    network, device = backbone.network.eval(), store.pixels.device
    known = torch.from_numpy(rows).to(device)
    found = []
    for some in torch.split(known, settings.training.batch):
        with mixed_precision(device):
            found.append(network(store.whole(some, settings.training.size)).flatten(2).mean(2).float())
    vectors = functional.normalize(torch.cat(found), dim=1)
    table = torch.zeros(len(store.pixels), min(settings.nearest, len(rows) - 1), dtype=torch.long, device=device)
    table[known] = known[nearest(vectors, table.shape[1])]
    return table
