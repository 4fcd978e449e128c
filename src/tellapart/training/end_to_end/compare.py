"""Which backbone should a matcher and a captioner share? Each is tuned alike for a few epochs, then measured.

The text encoder starts at random, so that only the backbones differ in what they know beforehand.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from tellapart.core.device import usable_device
from tellapart.core.errors import InputError
from tellapart.core.files import make_folder, write_json
from tellapart.data.pack import Pack
from tellapart.models.captioners.transformer import Transformer
from tellapart.models.inputs import ModelInputs
from tellapart.models.matchers.dual_encoder import DualEncoder
from tellapart.training.end_to_end.data import TrainingSet, read_training_set
from tellapart.training.end_to_end.joint import JointModel
from tellapart.training.end_to_end.loop import Log, Settings, Training
from tellapart.training.end_to_end.measure import as_text, caption_metrics, describe, read, retrieval, see
from tellapart.training.end_to_end.optimiser import Rates
from tellapart.training.end_to_end.train import backbone_to_tune, cells_of, no_log

SHOWN = ("rsum", "CIDEr", "BLEU-4")


@dataclass(frozen=True)
class Comparison:
    """Settings of a comparison of backbones."""

    backbones: tuple[str, ...] = ("efficientnet-lite0@224", "pp-lcnet-v2@224", "efficientnet-lite2@260")
    """Backbones with the side of their input in pixels."""
    stored: int = 224
    """Side in pixels of the images kept on the device."""
    matcher: DualEncoder = field(
        default_factory=lambda: DualEncoder(text="gru", start="", text_width=300, feed_forward=512)
    )
    """The matcher."""
    captioner: Transformer = field(default_factory=Transformer)
    """The captioner."""
    training: Settings = field(
        default_factory=lambda: Settings(
            seconds=float("inf"),
            most_steps=800,
            warm_up=100,
            matched=1,
            described=2,
            average=0.99,
            compiled=False,
            rates=Rates(text=1e-3, rest=1e-3),
        )
    )
    """Batches, steps and learning rates; the size is that of each backbone."""
    split: str = "val"
    """The split to measure on."""
    seed: int = 1
    """Random seed."""


@dataclass(frozen=True)
class _Images:
    """A pack, its training images and those to measure on."""

    pack: Pack
    training: TrainingSet
    held_out: TrainingSet


def compare_backbones(
    data: Path | str, out: Path | str, settings: Comparison | None = None, device: str = "cpu", log: Log | None = None
) -> list[dict[str, float | str]]:
    """Train each backbone on the training split of a pack; write OUT/NAME.json after each, and return all values."""
    settings, log, used = settings or Comparison(), log or no_log, usable_device(device)
    sizes = [_parse(one) for one in settings.backbones]
    pack = Pack(data)
    images = _Images(
        pack,
        read_training_set(pack, None, settings.stored, used),
        read_training_set(pack, None, settings.stored, used, split=settings.split),
    )
    found = []
    for name, size in sizes:
        values = _tuned(name, size, images, settings, log)
        make_folder(Path(out))
        write_json(Path(out) / f"{name}-{size}.json", values)
        log(str(values))
        found.append(values)
    return found


def as_table(found: list[dict[str, float | str]]) -> str:
    """The values as a Markdown table."""
    lines = ["| backbone | pixels | R@sum | CIDEr | BLEU-4 | images/s |", "|---|---:|---:|---:|---:|---:|"]
    for one in found:
        shown = " | ".join(f"{float(one[name]) * (100 if name != 'rsum' else 1):.1f}" for name in SHOWN)
        lines.append(f"| {one['backbone']} | {one['pixels']} | {shown} | {float(one['images/s']):,.0f} |")
    return "\n".join(lines)


def _parse(text: str) -> tuple[str, int]:
    """Name and size.

    >>> _parse("efficientnet-lite2@260")
    ('efficientnet-lite2', 260)
    """
    name, _, size = text.partition("@")
    if not size.isdigit() or int(size) < 32:
        raise InputError(f"The backbone '{text}' is not NAME@PIXELS, such as efficientnet-lite2@260.")
    return name, int(size)


def _tuned(name: str, size: int, images: _Images, settings: Comparison, log: Log) -> dict[str, float | str]:
    torch.manual_seed(settings.seed)
    given, backbone = images.training, backbone_to_tune(name)
    device = given.store.pixels.device
    for one in (given, images.held_out):
        one.store.read_as(backbone.preprocessing)
    inputs = ModelInputs(images.pack.vocabulary, backbone.width, cells_of(size))
    model = JointModel(backbone.network, settings.matcher.build(inputs), settings.captioner.build(inputs)).to(device)
    model.backbone.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    steps = replace(settings.training, size=size)
    training = Training(model, given.store, given.pieces, given.words, steps, log)
    begin = time.monotonic()
    count = training.run(given.rows, lambda model, step: None)
    seconds = time.monotonic() - begin
    averaged: JointModel = training.average.model  # type: ignore[assignment]
    return {
        "backbone": name,
        "pixels": size,
        "steps": count,
        "images/s": count * training.batch / seconds,
        **measured(averaged, images.held_out, images.pack, size),
    }


def measured(model: JointModel, given: TrainingSet, pack: Pack, size: int) -> dict[str, float]:
    """Recalls, and metrics of captions of the likeliest words, on the images of a split."""
    rows = torch.from_numpy(given.rows()).to(given.store.pixels.device)
    features, vectors = see(model, given.store, rows, size)
    captions = given.pieces.tokens.flatten(0, 1)
    assert model.captioner is not None
    texts = as_text(describe(model.captioner, features, width=1), pack.vocabulary)
    references = [[" ".join(pack.captions[row].words) for row in pack.captions_of[image]] for image in given.images]
    return {**retrieval(vectors, read(model.matcher, captions)), **caption_metrics(texts, references, tokenized=True)}
