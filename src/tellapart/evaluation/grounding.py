"""Does a model look at what it speaks of? Attention accuracy of captioners and matchers, F1_all and F1_loc of captions.

Captioners are judged twice: reading true sentences (attention accuracy, and the loss on the way), and speaking greedily
(F1, hallucination, and CIDEr-D on the way). Matchers read true sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.types import Batch
from tellapart.data.object_words import ObjectWords, open_objects
from tellapart.data.sampling import split_rows
from tellapart.evaluation.captions import MAX_WORDS, score_sentences, token_cider
from tellapart.evaluation.region_bounds import region_bounds
from tellapart.losses.likelihood import WordCrossEntropy
from tellapart.metrics.grounding.attention import (
    THRESHOLD,
    GeneratedWords,
    GroundingOutcomes,
    Outcomes,
    References,
    attention_accuracy,
    class_rates,
    grounding_scores,
    hallucination,
    judge_captions,
)
from tellapart.metrics.grounding.bootstrap import accuracy_samples, draws, interval, score_samples
from tellapart.metrics.grounding.boxes import best_overlap, image_sizes
from tellapart.models.captioners.teacher_forcing import predictions
from tellapart.models.decoding import greedy
from tellapart.models.matchers.detected_attention import ALL, AMONG, DetectedAttention, has_detections
from tellapart.models.matchers.word_attention import AttendingMatcher, word_attention
from tellapart.objectives.context import Context

CHUNK = 256


@dataclass(frozen=True)
class Grounding:
    """All judgements of a model on a split; `captions` and `said` are None for a matcher."""

    classes: tuple[str, ...]
    image_rows: np.ndarray  # [I] rows of the pack, rising: those judged
    attention: Outcomes
    captions: GroundingOutcomes | None
    figures: dict[str, float]
    said: Tensor | None = None  # [I, T] the greedy captions


def evaluate_grounding(model: nn.Module, context: Context, split: str) -> dict[str, float]:
    """Attention accuracy in percent; for a captioner also loss, CIDEr-D, F1_all, F1_loc and hallucination rates; for a
    matcher also its accuracy among `DetectedAttention` regions, where a detector found some."""
    return ground(model, context, split).figures


def evaluate_grounding_fully(model: nn.Module, context: Context, split: str) -> dict[str, float]:
    """`evaluate_grounding` with 95% intervals over images, what regions allow, and the greedy captions' scores."""
    return _full_figures(ground(model, context, split), context, split)


def ground_with_classes(
    model: nn.Module, context: Context, split: str
) -> tuple[dict[str, float], list[dict[str, float | str]]]:
    """`evaluate_grounding_fully` and `class_table` of one judgement."""
    found = ground(model, context, split)
    return _full_figures(found, context, split), class_table(found, context)


def _full_figures(found: Grounding, context: Context, split: str) -> dict[str, float]:
    figures = dict(found.figures)
    if found.said is not None:
        figures["token_cider"] = figures.pop("cider")
        figures |= score_sentences(context, found.image_rows, found.said)
    samples = drawn_figures(found, draws(len(found.image_rows)))
    for name, values in samples.items():
        figures[f"{name}_low"], figures[f"{name}_high"] = interval(values)
    assert context.store is not None
    return figures | region_bounds(context.pack, context.store, split)


def drawn_figures(found: Grounding, drawn: np.ndarray) -> dict[str, np.ndarray]:
    """Attention accuracy and both F1s [S] on drawn images; drawn [S, I] counts how often each was drawn."""
    classes = len(found.classes)
    samples = {"attention_accuracy": accuracy_samples(found.attention, found.image_rows, classes, drawn)}
    if found.captions is not None:
        samples |= score_samples(found.captions, found.image_rows, classes, drawn)
    return samples


def to_ground(
    model: nn.Module, context: Context, split: str
) -> tuple[Captioner | AttendingMatcher, ObjectWords, np.ndarray]:
    """The model once it is known to look with words, and the objects and captions [C] it is to be judged by."""
    objects = open_objects(context.pack)
    if not isinstance(model, Captioner | AttendingMatcher):
        raise InputError(f"{type(model).__name__} neither captions nor looks with words, so its gaze cannot be judged.")
    if context.store is None or context.store.boxes is None:
        raise InputError("Grounding is measured on features that have boxes; train and evaluate on grid or regions.")
    rows = split_rows(context.pack, split)
    captions = rows.captions[objects.annotated[rows.captions] & (context.pack.owner[rows.captions] >= 0)]
    if not len(captions):
        raise InputError(f"No caption of the split '{split}' of {context.pack.folder} has phrases to judge by.")
    return model, objects, captions


def ground(model: nn.Module, context: Context, split: str) -> Grounding:
    """Judge a captioner or a matcher on the annotated images of a split."""
    looking, objects, captions = to_ground(model, context, split)
    image_rows = np.unique(context.pack.owner[captions])
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            attention, losses = _read(looking, context, objects, captions)
            figures = _accuracies(attention, len(objects.classes)) | losses
            judged, said = None, None
            if not isinstance(looking, AttendingMatcher):
                judged, said, spoken = _speak(looking, context, objects, image_rows, captions)
                figures |= spoken
    finally:
        model.train(was_training)
    return Grounding(objects.classes, image_rows, attention[ALL], judged, figures, said)


def _accuracies(attention: dict[str, Outcomes], classes: int) -> dict[str, float]:
    """Among all regions by name alone, among some with `_detected` or `_sure` behind it."""
    return {
        name if among == ALL else f"{name}_{among}": value
        for among, outcomes in attention.items()
        for name, value in attention_accuracy(outcomes, classes).items()
    }


def _read(
    model: Captioner | AttendingMatcher, context: Context, objects: ObjectWords, captions: np.ndarray
) -> tuple[dict[str, Outcomes], dict[str, float]]:
    """Where annotated words of true sentences look; a matcher's also if they looked at regions alone that a detector
    vouches for. For a captioner also the loss a word."""
    among = AMONG if isinstance(model, AttendingMatcher) and has_detections(context.store) else (ALL,)
    kept_to = {name: DetectedAttention(name, context.store, context.device) for name in among}
    parts: dict[str, list[Outcomes]] = {name: [] for name in among}
    loss, total, count = WordCrossEntropy(), 0.0, 0
    boxes, mask = objects.padded_boxes
    sizes = image_sizes(context.pack.images)
    for rows in chunks(captions):
        batch = context.batches.batch(rows)
        if isinstance(model, AttendingMatcher):
            attention = word_attention(model, batch.images, batch.texts, batch.owner)[:, 1:-1]
        else:
            found = predictions(model, batch.images, batch.texts.tokens, batch.owner)
            if found.attention is None:
                raise InputError(f"{type(model).__name__} looks at nothing, so its gaze cannot be judged.")
            attention = found.attention
            total += float(loss.per_word(found.logits, found.targets).sum())
            count += len(found.targets)
        words = objects.of_captions(rows)
        place_of = np.zeros(int(rows.max()) + 1, dtype=np.int64)
        place_of[rows] = np.arange(len(rows))
        read = batch.texts.lengths.cpu().numpy() - 2  # [C] words between START and END
        # Sentences may have been cut: where a word is gone, END stands, or padding.
        words = words[objects.place[words] < read[place_of[objects.caption[words]]]]
        sentence = torch.from_numpy(place_of[objects.caption[words]])
        looks = attention[sentence, torch.from_numpy(objects.place[words])]  # [w, R]
        image = context.pack.owner[objects.caption[words]]
        for name, kept in kept_to.items():
            weights = kept(looks, torch.from_numpy(image).to(looks.device))
            box = _box_looked_at(batch, weights, sentence.to(batch.owner.device))
            hit = best_overlap(box, boxes[words], mask[words], sizes[image]) > THRESHOLD
            # A word that a matcher passes over looks nowhere, and nowhere is never right.
            hit &= (weights.sum(-1) > 0).cpu().numpy()
            parts[name].append(Outcomes(image, objects.word_class[words], hit))
    return {name: _joined(part) for name, part in parts.items()}, {"loss": total / count} if count else {}


def _joined(parts: list[Outcomes]) -> Outcomes:
    return Outcomes(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("image", "word_class", "hit")))


def _box_looked_at(batch: Batch, weights: Tensor, sentence: Tensor) -> np.ndarray:
    """The box [w, 4] of the region with the largest weight [w, R]."""
    assert batch.images.boxes is not None
    region = weights.argmax(-1)
    return batch.images.boxes[batch.owner[sentence], region].cpu().numpy().astype(np.float64)


def _speak(
    model: Captioner, context: Context, objects: ObjectWords, image_rows: np.ndarray, captions: np.ndarray
) -> tuple[GroundingOutcomes, Tensor, dict[str, float]]:
    """Greedy captions, judged against every reference."""
    class_of = torch.from_numpy(objects.vocabulary_class.astype(np.int64)).to(context.device)
    parts, tokens = [], []
    for rows in chunks(image_rows):
        images = context.batches.images(rows)
        said = greedy(model, images, MAX_WORDS)
        assert said.attention is not None and images.boxes is not None
        classes = class_of[said.tokens]  # [I, T]
        row, step = (classes >= 0).nonzero(as_tuple=True)
        box = images.boxes[row, said.attention[row, step].argmax(-1)]
        parts.append(
            GeneratedWords(
                rows[row.cpu().numpy()], classes[row, step].cpu().numpy(), box.cpu().numpy().astype(np.float64)
            )
        )
        tokens.append(said.tokens.cpu())
    spoken = GeneratedWords(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("image", "word_class", "box"))
    )
    longest = max(part.shape[1] for part in tokens)
    whole = torch.cat([torch.nn.functional.pad(part, (0, longest - part.shape[1])) for part in tokens])
    outcomes = judge_captions(spoken, references_of(context, objects, captions), image_sizes(context.pack.images))
    mentioned, owner = _mentioned(context, objects, image_rows)
    figures = {"cider": token_cider(context, image_rows, whole)}
    figures |= grounding_scores(outcomes, len(objects.classes))
    return outcomes, whole, figures | hallucination(spoken, len(image_rows), mentioned, owner)


def references_of(context: Context, objects: ObjectWords, captions: np.ndarray) -> References:
    """Annotated and other object words of these captions (rising rows of the pack)."""
    captions = np.sort(captions)
    words = objects.of_captions(captions)
    boxes, mask = objects.padded_boxes
    other = np.setdiff1d(np.flatnonzero(objects.token_class >= 0), objects.tokens, assume_unique=True)
    caption = np.searchsorted(context.pack.offsets, other, side="right") - 1
    inside = np.isin(caption, captions)
    return References(
        context.pack.owner[captions],
        np.searchsorted(captions, objects.caption[words]),
        objects.word_class[words].astype(np.int64),
        boxes[words],
        mask[words],
        np.searchsorted(captions, caption[inside]),
        objects.token_class[other[inside]].astype(np.int64),
    )


def _mentioned(context: Context, objects: ObjectWords, image_rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Classes that any word of any caption of these images mentions, phrases or not, and whose captions those are."""
    token = np.flatnonzero(objects.token_class >= 0)
    owner = context.pack.owner[np.searchsorted(context.pack.offsets, token, side="right") - 1]
    inside = np.isin(owner, image_rows)
    return objects.token_class[token[inside]].astype(np.int64), owner[inside]


def class_table(found: Grounding, context: Context) -> list[dict[str, float | str]]:
    """One row a class that the split annotates, the most frequent first: how often it is annotated and said, and its
    accuracy, precision and recall in percent: what F1_all and F1_loc are means of."""
    classes = len(found.classes)
    rates: dict[str, np.ndarray] = {}
    rates["attention_accuracy"], words = class_rates(found.attention, classes)
    counts = {"words": words}
    if found.captions is not None and found.said is not None:
        spoken = open_objects(context.pack).vocabulary_class[found.said.numpy()]  # [I, T]
        counts["said"] = np.bincount(spoken[spoken >= 0], minlength=classes)
        for name, (precision, recall) in found.captions.modes.items():
            rates[f"precision_{name}"], rates[f"recall_{name}"] = (
                class_rates(outcomes, classes)[0] for outcomes in (precision, recall)
            )
    rows: list[dict[str, float | str]] = []
    for k in (int(k) for k in np.argsort(-words, kind="stable") if words[k] > 0):
        rows.append({"class": found.classes[k]})
        rows[-1].update({name: int(values[k]) for name, values in counts.items()})
        rows[-1].update({name: 100 * float(values[k]) for name, values in rates.items()})
    return rows


def chunks(rows: np.ndarray, size: int = CHUNK) -> Iterator[np.ndarray]:
    for first in range(0, len(rows), size):
        yield rows[first : first + size]
