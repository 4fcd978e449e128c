"""End-to-end training from a pack to run folders: joint training, self-critical training of the captioner, rare words.

OUT/
  backbone.safetensors   the tuned backbone; its path is a name that `load_backbone` reads
  matcher/, captioner/   run folders
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from tellapart.core.device import usable_device
from tellapart.data.pack import Pack
from tellapart.features.backbones import load_backbone
from tellapart.metrics.captions.token_reward import TokenCider
from tellapart.models.captioners.transformer import Transformer, TransformerCaptioner
from tellapart.models.inputs import ModelInputs
from tellapart.models.matchers.dual_encoder import DualEncoder
from tellapart.runs.bundled import run_folder
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.end_to_end.data import TrainingSet, read_training_set
from tellapart.training.end_to_end.joint import JointModel
from tellapart.training.end_to_end.loop import Log, Settings, Training
from tellapart.training.end_to_end.measure import see
from tellapart.training.end_to_end.object_words import ObjectWords
from tellapart.training.end_to_end.rare_words import RareWords
from tellapart.training.end_to_end.rewards import Rewards, nearest
from tellapart.training.end_to_end.runs import save_runs
from tellapart.training.end_to_end.self_critical import SelfCritical, train_self_critical
from tellapart.training.end_to_end.word_bias import WordBias, adjust_word_bias
from tellapart.training.end_to_end.words import PiecesOfWords

CELL = 32
"""Pixels of the backbone's input per cell of its map."""


@dataclass(frozen=True)
class EndToEnd:
    """Settings of end-to-end training; the defaults are those of the bundled models."""

    backbone: str = "efficientnet-lite2"
    """The backbone to tune: efficientnet-lite0, -lite1 or -lite2."""
    stored: int = 224
    """Side in pixels of the images kept on the device."""
    captioner: Transformer = field(default_factory=Transformer)
    """The captioner."""
    matcher: DualEncoder = field(default_factory=lambda: DualEncoder(positions=128))
    """The matcher."""
    joint: Settings = field(default_factory=Settings)
    """The first stage: backbone, matcher and captioner together."""
    self_critical: SelfCritical = field(default_factory=SelfCritical)
    """The second stage: the captioner alone, on rewards."""
    word_bias: WordBias = field(default_factory=WordBias)
    """The third stage: rare words of the captioner become likelier."""
    look_alikes: int = 9
    """Most similar images among which a caption must identify its own."""
    seed: int = 1
    """Random seed."""


def train_end_to_end(
    data: Path | str, out: Path | str, settings: EndToEnd | None = None, device: str = "cpu", log: Log | None = None
) -> Path:
    """Train on the training split of a pack and write the runs; returns `out`."""
    settings, log, used = settings or EndToEnd(), log or _silent, usable_device(device)
    torch.manual_seed(settings.seed)
    pack, pieces = Pack(data), Vocabulary.load(run_folder("bundled:matcher") / "vocabulary.json")
    given = read_training_set(pack, pieces, settings.stored, used)
    log(f"{len(given.rows())} images, {len(pack.vocabulary)} words, {len(pieces)} subwords")
    model = joint_model(settings, pack.vocabulary, pieces).to(used)
    model.backbone.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    training = Training(model, given.store, given.pieces, given.words, settings.joint, log)
    if settings.joint.compiled:
        training.warm()
    steps = training.run(given.rows, lambda model, step: None)
    log(f"joint training took {steps} steps")
    averaged: JointModel = training.average.model  # type: ignore[assignment]
    del training, model
    rewarded = reward_captioner(averaged, given, pack.vocabulary, pieces, settings, log)
    averaged.captioner = adjust_word_bias(rewarded, given.words.tokens, settings.word_bias)
    return save_runs(
        Path(out),
        averaged,
        pack=pack,
        pieces=pieces,
        backbone=settings.backbone,
        size=settings.joint.size,
        settings=settings,
    )


def joint_model(settings: EndToEnd, words: Vocabulary, pieces: Vocabulary) -> JointModel:
    """Backbone and text encoder with pretrained weights, the rest random."""
    backbone = load_backbone(settings.backbone, trainable=True)
    cells = math.ceil(settings.joint.size / CELL) ** 2
    matcher = settings.matcher.build(ModelInputs(pieces, backbone.width, cells))
    return JointModel(backbone.network, matcher, settings.captioner.build(ModelInputs(words, backbone.width, cells)))


def reward_captioner(
    model: JointModel, given: TrainingSet, words: Vocabulary, pieces: Vocabulary, settings: EndToEnd, log: Log
) -> TransformerCaptioner:
    """The captioner after self-critical training on the features of the tuned backbone."""
    device = given.store.pixels.device
    every = torch.from_numpy(given.rows()).to(device)
    features, vectors = see(model.requires_grad_(False), given.store, every, settings.joint.size)
    references = given.words.tokens.long()  # [I, k, T] with START
    rewards = Rewards(
        TokenCider.from_references(references[:, :, 1:].flatten(0, 1), every.repeat_interleave(references.shape[1])),
        model.matcher,
        PiecesOfWords(words, pieces, device),
        objects := ObjectWords(words, device),
        vectors=vectors,
        neighbours=nearest(vectors, min(settings.look_alikes, len(vectors) - 1)),
        named=reference_objects(objects, references),
        scale=float(model.matcher.scale()),
        rare=RareWords(references, len(words)) if settings.self_critical.reward.rare else None,
    )
    assert model.captioner is not None
    captioner = copy.deepcopy(model.captioner).requires_grad_(True)
    return train_self_critical(
        captioner,
        features,
        words=references,
        rewards=rewards,
        available=given.rows,
        settings=settings.self_critical,
        log=log,
    )


def reference_objects(objects: ObjectWords, references: Tensor) -> Tensor:
    """[I, 80] bool: objects that any reference [I, k, T] of an image names."""
    found = objects(references[:, :, 1:].flatten(0, 1))
    return found.view(*references.shape[:2], -1).any(1)


def _silent(line: str) -> None:
    """Log nothing."""
