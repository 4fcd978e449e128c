"""Where a model attends while it reads true captions."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.types import Batch
from tellapart.data.object_words import ObjectWords
from tellapart.evaluation.chunks import CHUNK, chunks
from tellapart.losses.likelihood import WordCrossEntropy
from tellapart.metrics.grounding.attention import THRESHOLD, Outcomes
from tellapart.metrics.grounding.boxes import best_overlap, image_sizes
from tellapart.models.captioners.teacher_forcing import predictions
from tellapart.models.matchers.detected_attention import ALL, AMONG, DetectedAttention, has_detections
from tellapart.models.matchers.word_attention import AttendingMatcher, word_attention
from tellapart.objectives.context import Context


def read_captions(
    model: Captioner | AttendingMatcher, context: Context, objects: ObjectWords, captions: np.ndarray
) -> tuple[dict[str, Outcomes], dict[str, float]]:
    """Where annotated words of true captions attend; for a matcher also among trusted regions alone. For a captioner
    also the loss per word."""
    among = AMONG if isinstance(model, AttendingMatcher) and has_detections(context.store) else (ALL,)
    trusted = {name: DetectedAttention(name, context.store, context.device) for name in among}
    parts: dict[str, list[Outcomes]] = {name: [] for name in among}
    loss, total, count = WordCrossEntropy(), 0.0, 0
    boxes, mask = objects.padded_boxes
    sizes = image_sizes(context.pack.images)
    for rows in chunks(captions, context.at_once(CHUNK)):
        batch = context.batches.batch(rows)
        if isinstance(model, AttendingMatcher):
            attention = word_attention(model, batch.images, batch.texts, batch.owner)[:, 1:-1]
        else:
            found = predictions(model, batch.images, batch.texts.tokens, batch.owner)
            if found.attention is None:
                raise InputError(f"{type(model).__name__} has no attention to evaluate.")
            attention = found.attention
            total += float(loss.per_word(found.logits, found.targets).sum())
            count += len(found.targets)
        words = objects.of_captions(rows)
        place_of = np.zeros(int(rows.max()) + 1, dtype=np.int64)
        place_of[rows] = np.arange(len(rows))
        read = batch.texts.lengths.cpu().numpy() - 2  # [C] words between START and END
        # Captions may have been cut: words that are gone cannot be evaluated.
        words = words[objects.place[words] < read[place_of[objects.caption[words]]]]
        caption = torch.from_numpy(place_of[objects.caption[words]])
        attended = attention[caption, torch.from_numpy(objects.place[words])]  # [w, R]
        image = context.pack.owner[objects.caption[words]]
        for name, keep in trusted.items():
            weights = keep(attended, torch.from_numpy(image).to(attended.device))
            box = _attended_box(batch, weights, caption.to(batch.owner.device))
            hit = best_overlap(box, boxes[words], mask[words], sizes[image]) > THRESHOLD
            # A word that a matcher skips attends to nothing, which is never right.
            hit &= (weights.sum(-1) > 0).cpu().numpy()
            parts[name].append(Outcomes(image, objects.word_class[words], hit))
    return {name: _joined(part) for name, part in parts.items()}, {"loss": total / count} if count else {}


def _joined(parts: list[Outcomes]) -> Outcomes:
    return Outcomes(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("image", "word_class", "hit")))


def _attended_box(batch: Batch, weights: Tensor, caption: Tensor) -> np.ndarray:
    """The box [w, 4] of the region with the largest weight [w, R]."""
    assert batch.images.boxes is not None
    region = weights.argmax(-1)
    return batch.images.boxes[batch.owner[caption], region].cpu().numpy().astype(np.float64)
