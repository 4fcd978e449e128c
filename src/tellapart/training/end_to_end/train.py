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
from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.features.backbones import BACKBONES, Backbone, load_backbone
from tellapart.metrics.captions.token_reward import TokenCider
from tellapart.models.captioners.transformer import Transformer, TransformerCaptioner
from tellapart.models.inputs import ModelInputs
from tellapart.models.matchers.dual_encoder import DualEncoder, DualEncoderModel
from tellapart.runs.bundled import run_folder
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.end_to_end.data import TrainingSet, read_training_set
from tellapart.training.end_to_end.joint import JointModel
from tellapart.training.end_to_end.joint_self_critical import JointSelfCritical, JointSelfCriticalTraining
from tellapart.training.end_to_end.loop import Log, Settings, Training
from tellapart.training.end_to_end.measure import see
from tellapart.training.end_to_end.object_words import ObjectWords
from tellapart.training.end_to_end.rare_words import RareWords
from tellapart.training.end_to_end.rewards import Rewards, RewardWeights, nearest
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
    """The backbone to tune: efficientnet-lite0, -lite1 or -lite2, or pp-lcnet-v2."""
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
    rewarded_backbone: JointSelfCritical | None = None
    """If given, the second stage is this one instead: backbone and matcher learn with the captioner."""
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
    settings, log, used = settings or EndToEnd(), log or no_log, usable_device(device)
    torch.manual_seed(settings.seed)
    pack, pieces = Pack(data), Vocabulary.load(run_folder("bundled:matcher") / "vocabulary.json")
    backbone = backbone_to_tune(settings.backbone)
    given = read_training_set(pack, pieces, settings.stored, used, backbone.preprocessing)
    log(f"{len(given.rows())} images, {len(pack.vocabulary)} words, {len(pieces)} subwords")
    model = joint_model(settings, backbone, pack.vocabulary, pieces).to(used)
    model.backbone.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    training = Training(model, given.store, given.pieces, given.words, settings.joint, log)
    if settings.joint.compiled:
        training.warm()
    steps = training.run(given.rows, lambda model, step: None)
    log(f"joint training took {steps} steps")
    averaged: JointModel = training.average.model  # type: ignore[assignment]
    del training, model
    if settings.rewarded_backbone is not None:
        averaged = reward_all(averaged, given, pack.vocabulary, pieces, settings, log)
    else:
        averaged.captioner = reward_captioner(averaged, given, pack.vocabulary, pieces, settings, log)
    assert averaged.captioner is not None
    adjust_word_bias(averaged.captioner, given.words.tokens, settings.word_bias)
    return save_runs(
        Path(out),
        averaged,
        pack=pack,
        pieces=pieces,
        backbone=settings.backbone,
        size=settings.joint.size,
        settings=settings,
    )


def joint_model(settings: EndToEnd, backbone: Backbone, words: Vocabulary, pieces: Vocabulary) -> JointModel:
    """Backbone and text encoder with pretrained weights, the rest random."""
    cells = cells_of(settings.joint.size)
    matcher = settings.matcher.build(ModelInputs(pieces, backbone.width, cells))
    return JointModel(backbone.network, matcher, settings.captioner.build(ModelInputs(words, backbone.width, cells)))


def backbone_to_tune(name: str) -> Backbone:
    """A trainable backbone whose map has a cell for 32 x 32 pixels: one of this package."""
    if name not in BACKBONES:
        raise InputError(
            f"This training tunes {', '.join(BACKBONES)}, not '{name}'; a recipe whose name ends in -pixels tunes "
            "other backbones."
        )
    return load_backbone(name, trainable=True)


def cells_of(size: int) -> int:
    """Cells of the backbone's map for an input of `size` pixels a side."""
    return math.ceil(size / CELL) ** 2


def reward_captioner(
    model: JointModel, given: TrainingSet, words: Vocabulary, pieces: Vocabulary, settings: EndToEnd, log: Log
) -> TransformerCaptioner:
    """The captioner after self-critical training on the features of the tuned backbone."""
    every = torch.from_numpy(given.rows()).to(given.store.pixels.device)
    features, vectors = see(model.requires_grad_(False), given.store, every, settings.joint.size)
    rewards = rewards_of(
        model.matcher,
        vectors,
        given,
        words,
        pieces,
        look_alikes=settings.look_alikes,
        weights=settings.self_critical.reward,
    )
    assert model.captioner is not None
    captioner = copy.deepcopy(model.captioner).requires_grad_(True)
    return train_self_critical(
        captioner,
        features,
        words=given.words.tokens.long(),
        rewards=rewards,
        available=given.rows,
        settings=settings.self_critical,
        log=log,
    )


def reward_all(
    model: JointModel, given: TrainingSet, words: Vocabulary, pieces: Vocabulary, settings: EndToEnd, log: Log
) -> JointModel:
    """The model after self-critical training with its backbone; the matcher as it was before gives the rewards."""
    chosen = settings.rewarded_backbone
    assert chosen is not None
    every = torch.from_numpy(given.rows()).to(given.store.pixels.device)
    matcher = copy.deepcopy(model.matcher).eval().requires_grad_(False)
    _, vectors = see(model, given.store, every, chosen.size, keep=False)
    rewards = rewards_of(
        matcher, vectors.float(), given, words, pieces, look_alikes=settings.look_alikes, weights=chosen.reward
    )
    model.requires_grad_(True)
    return JointSelfCriticalTraining(model, given.store, given.pieces, given.words, rewards, chosen).run(
        given.rows, log
    )


def rewards_of(
    matcher: DualEncoderModel,
    vectors: Tensor,
    given: TrainingSet,
    words: Vocabulary,
    pieces: Vocabulary,
    *,
    look_alikes: int,
    weights: RewardWeights,
) -> Rewards:
    """The rewards of captions of the training images, whose vectors by the matcher are [I, E]."""
    device, references = vectors.device, given.words.tokens.long()  # [I, k, T] with START
    owner = torch.arange(len(references), device=device).repeat_interleave(references.shape[1])
    objects = ObjectWords(words, device)
    return Rewards(
        TokenCider.from_references(references[:, :, 1:].flatten(0, 1), owner),
        matcher,
        PiecesOfWords(words, pieces, device),
        objects,
        vectors=vectors,
        neighbours=nearest(vectors, min(look_alikes, len(vectors) - 1)),
        named=reference_objects(objects, references),
        scale=float(matcher.scale()),
        rare=RareWords(references, len(words)) if weights.rare else None,
    )


def reference_objects(objects: ObjectWords, references: Tensor) -> Tensor:
    """[I, 80] bool: objects that any reference [I, k, T] of an image names."""
    found = objects(references[:, :, 1:].flatten(0, 1))
    return found.view(*references.shape[:2], -1).any(1)


def no_log(line: str) -> None:
    """Log nothing."""
