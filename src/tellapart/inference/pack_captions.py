"""A captioner's run on the images of a pack, by features that the pack has, and what its captions are worth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tellapart.core.types import Encoded, Images
from tellapart.data.batches import Batches
from tellapart.data.pack import Pack
from tellapart.evaluation.chunks import chunks
from tellapart.inference.caption_generator import NEIGHBOURS, CaptionGenerator
from tellapart.inference.judge import Judge
from tellapart.inference.judging import COMPARED, surroundings
from tellapart.inference.neighbours import nearest
from tellapart.metrics.captions.cider_between import cider_between
from tellapart.metrics.captions.diversity import FIRST, distinct_words
from tellapart.metrics.captions.evaluate import available_metrics, evaluate
from tellapart.metrics.captions.neighbours import nearest_rows
from tellapart.metrics.captions.ptb.tokenizer import tokenize, tokenize_groups
from tellapart.runs.context import store_like

TOGETHER = 64
SHOWN = ("BLEU-1", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr", "CHAIR-s", "CHAIR-i")
"""Metrics of a captioner's model card."""


def batches_for(
    reader: CaptionGenerator | Judge, pack: Pack, device: torch.device | str = "cpu", features: str | None = None
) -> Batches:
    """The pack's images as a captioner or a judge reads them; raises if the pack lacks its features. features: their
    name; by default those that it was trained with, or those that are made alike."""
    store = store_like(reader.run, reader.run.data["features"], pack, features)
    return Batches(pack, store, (), torch.device(device))


@torch.inference_mode()
def plain_captions(
    generator: CaptionGenerator, batches: Batches, image_rows: np.ndarray, judge: Judge | None = None
) -> list[str]:
    """The caption of each of these images, as `tellapart caption` generates it, which has a judge for the bundled
    captioner; without one, the likeliest."""
    found: list[str] = []
    for images in _read(batches, image_rows):
        if judge is None:
            found += generator.generate(images).texts
        else:
            found += generator.describe(images, judge, judge.encode_images(images).vectors).texts
    return found


@torch.inference_mode()
def plain_confidences(
    generator: CaptionGenerator, judge: Judge, batches: Batches, image_rows: np.ndarray
) -> tuple[list[str], list[float]]:
    """Plain captions of these images with their confidences; none for a judge that they were not calibrated for."""
    texts: list[str] = []
    confidences: list[float] = []
    for images in _read(batches, image_rows):
        found = generator.describe(images, judge, judge.encode_images(images).vectors)
        texts += found.texts
        confidences += found.confidence or []
    return texts, confidences


@dataclass(frozen=True)
class Chooser:
    """A judge that chooses captions, with the pack's images as it reads them."""

    judge: Judge
    batches: Batches

    @torch.inference_mode()
    def vectors(self, image_rows: np.ndarray) -> torch.Tensor:
        """Its vectors of images of the pack [I, E]."""
        return torch.cat([self.judge.encode_images(images).vectors for images in _read(self.batches, image_rows)])


@torch.inference_mode()
def captions_against(
    generator: CaptionGenerator,
    chooser: Chooser,
    batches: Batches,
    image_rows: np.ndarray,
    count: int,
    second: Judge | None = None,
) -> CaptionsAgainst:
    """Captions of the first `count` of these images against all of them, as `tellapart caption --against`; second:
    another judge, by the captioner's features."""
    judge, album = chooser.judge, chooser.vectors(image_rows)  # [I, E]
    found = CaptionsAgainst([], [], [], [])
    for places in chunks(np.arange(count), TOGETHER):
        own = album[torch.from_numpy(places)]
        rows = nearest(_as_images(own), _as_images(album), COMPARED)  # [n, M + L]
        around = surroundings(Encoded(own), Encoded(album), rows.cpu().numpy(), NEIGHBOURS)
        captions = generator.generate_apart(batches.images(image_rows[places]), judge, around, second=second)
        found.captions.extend(captions.texts)
        found.distinct.extend(captions.distinct or [True] * len(places))
        found.sure.extend(captions.sure or [True] * len(places))
        found.confidence.extend(captions.confidence or [])
    return found


@dataclass(frozen=True)
class CaptionsAgainst:
    """Captions against other images."""

    captions: list[str]
    distinct: list[bool]
    """Whether something true sets the image apart."""
    sure: list[bool]
    """Whether the caption is probably true."""
    confidence: list[float]
    """The probability that it is true; empty for a judge that it was not calibrated for."""


def _as_images(vectors: torch.Tensor) -> Images:
    rows = vectors.unsqueeze(1)  # [I, 1, E]
    return Images(rows, torch.ones(rows.shape[:2], dtype=torch.bool, device=rows.device))


def _read(batches: Batches, image_rows: np.ndarray) -> Iterator[Images]:
    for rows in chunks(image_rows, TOGETHER):
        yield batches.images(rows)


def look_alikes_by(batches: Batches, image_rows: np.ndarray, count: int) -> np.ndarray:
    """[I, count]: the nearest of these images to each, by pooled features, as indices of `image_rows`."""
    return nearest_rows(np.concatenate([images.pooled().cpu().numpy() for images in _read(batches, image_rows)]), count)


def references_of(pack: Pack, image_rows: np.ndarray) -> list[list[str]]:
    """The captions of each image of the pack."""
    return [[pack.captions[row].text for row in pack.captions_of[int(image)]] for image in image_rows]


def caption_values(
    captions: Sequence[str], references: Sequence[Sequence[str]], similar: np.ndarray | None = None
) -> dict[str, float]:
    """The metrics of a model card in percent (CIDEr and CIDErBtw times 100), and the distinct words of 400 captions.

    Caption i belongs to references i; there may be more references, of images that are only look-alikes [C, k].
    METEOR is left out where its tables are not installed.
    """
    lines, groups = tokenize(captions), tokenize_groups(references)
    able = set(available_metrics()[0]) | {"CHAIR-s", "CHAIR-i"}
    chosen = [name for name in SHOWN if name in able]
    values = evaluate(lines, groups[: len(lines)], chosen, tokenized=True)
    found = {name: 100 * score.corpus for name, score in values.items()}
    if similar is not None:
        found["CIDErBtw"] = 100 * cider_between(lines, groups, similar[: len(lines)].tolist()).corpus
    return found | {f"words in {FIRST}": float(distinct_words(lines))}
