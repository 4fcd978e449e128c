"""Targets for a captioner's attention at a word: the attention of a frozen matcher, or true boxes.

Targets are looked up by the captions' rows in the pack, so batches need no extra columns. Neither class is an
nn.Module: they have no parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tellapart.core.errors import InputError, Step
from tellapart.core.types import Batch
from tellapart.data.batches import Batches
from tellapart.data.object_words import open_objects
from tellapart.data.sampling import split_rows
from tellapart.metrics.grounding.boxes import image_sizes
from tellapart.models.matchers.detected_attention import DetectedAttention
from tellapart.models.matchers.word_attention import word_attention
from tellapart.objectives.context import Context

CHUNK = 512
"""Captions that the teacher reads at once."""
CORRECT = 0.5
"""A region is correct when its overlap with the true box is above this (Eq. 16)."""
SOFTNESS = 0.5
"""Temperature of the distribution that true boxes give: softmax(overlap / SOFTNESS), as in the released code."""


@dataclass(frozen=True)
class AttentionTargets:
    """The targets of M supervised words."""

    caption: Tensor  # [M] row in the batch
    position: Tensor  # [M] of the word in its caption
    weights: Tensor  # [M, R] alpha, sums to one
    correct: Tensor  # [M, R] bool, gamma
    real: Tensor  # [M] bool: False for rows that `padded` added

    def padded(self, multiple: int) -> AttentionTargets:
        """The targets with empty rows added, up to a multiple of `multiple` rows."""
        missing = -len(self.caption) % multiple
        return AttentionTargets(
            functional.pad(self.caption, (0, missing)),
            functional.pad(self.position, (0, missing)),
            functional.pad(self.weights, (0, 0, 0, missing)),
            functional.pad(self.correct, (0, 0, 0, missing)),
            functional.pad(self.real, (0, missing)),
        )


class TokenLookup:
    """Finds a batch's words among the pack's tokens."""

    def __init__(self, context: Context) -> None:
        self.offsets = torch.from_numpy(np.asarray(context.pack.offsets)).to(context.device)

    def chosen(self, batch: Batch, mark: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Captions [M], positions [M] and rows among the pack's tokens [M] of the words where `mark` [N] is true."""
        tokens = batch.texts.tokens
        steps = torch.arange(tokens.shape[1] - 2, device=tokens.device)
        inside = steps < batch.texts.lengths.unsqueeze(1) - 2  # [C, n], without START and END
        token = self.offsets[batch.caption_rows].unsqueeze(1) + steps
        token = torch.where(inside, token, 0)
        caption, position = (inside & mark[token]).nonzero(as_tuple=True)
        return caption, position, token[caption, position]


class TeacherAttention:
    """A frozen matcher's attention at each noun (Eq. 15).

    With `stored` it is computed once for the whole training split, at the first batch, and kept in half precision.
    """

    def __init__(self, context: Context, teacher: str, stored: bool = True, among: str = "all") -> None:
        if not context.pack.has_column("nouns"):
            raise InputError(
                f"{context.pack.folder} has no noun marks; annotate nouns first.",
                Step("annotate", context.pack.folder, nouns=True),
            )
        self.context, self.teacher, self.stored = context, context.model(teacher), stored
        self.detected = DetectedAttention(among, context.store, context.device)
        self.tokens = TokenLookup(context)
        self.nouns = torch.from_numpy(np.array(context.pack.column("nouns").values, dtype=np.bool_)).to(context.device)
        # The teacher reads captions with their noun marks, cut to the same length as the captioner's.
        self.batches = Batches(context.pack, context.store, ("nouns",), context.device, context.batches.longest)
        self.row: Tensor | None = None  # [N] row of a token's attention in `kept`, -1 for none
        self.kept = torch.zeros(0)  # [M, R]

    def __call__(self, batch: Batch, training: bool) -> AttentionTargets:
        """The targets at the nouns of a batch."""
        caption, position, token = self.tokens.chosen(batch, self.nouns)
        if self.stored and training:
            if self.row is None:
                self._store_all()
            weights = self.kept[self.row[token]].float()[:, : batch.images.features.shape[1]]  # type: ignore[index]
        else:
            weights = self._attention(self.batches.batch(batch.caption_rows.cpu().numpy()))[caption, position]
        weights = self.detected(weights, batch.image_rows[batch.owner[caption]])
        attended = weights.sum(-1) > 0
        caption, position, weights = caption[attended], position[attended], weights[attended]
        correct = weights == weights.amax(-1, keepdim=True)
        return AttentionTargets(caption, position, weights, correct, torch.ones_like(caption, dtype=torch.bool))

    def _attention(self, batch: Batch) -> Tensor:
        """The teacher's alpha [C, n, R] at each word of a batch; zero rows for words that it ignores."""
        return word_attention(self.teacher, batch.images, batch.texts, batch.owner)[:, 1:-1]

    def _store_all(self) -> None:
        captions = split_rows(self.context.pack, self.context.train_split).captions
        captions = captions[self.context.pack.owner[captions] >= 0]
        self.row = torch.full((len(self.nouns),), -1, dtype=torch.long, device=self.nouns.device)
        regions = self.context.store.most_rows if self.context.store is not None else 0
        parts, count = [], 0
        for first in range(0, len(captions), CHUNK):
            batch = self.batches.batch(captions[first : first + CHUNK])
            caption, position, token = self.tokens.chosen(batch, self.nouns)
            weights = self._attention(batch)[caption, position].half()  # [m, r]
            parts.append(torch.nn.functional.pad(weights, (0, regions - weights.shape[1])))
            self.row[token] = torch.arange(count, count + len(token), device=token.device)
            count += len(token)
        self.kept = torch.cat(parts)


class BoxAttention:
    """True boxes as targets: weights softmax(overlap / 0.5), correct where the overlap is above 0.5 (Eq. 16).

    Words whose box no region overlaps are skipped.
    """

    def __init__(self, context: Context) -> None:
        objects = open_objects(context.pack)
        device = context.device
        self.tokens = TokenLookup(context)
        row = np.full(len(context.pack.tokens), -1, dtype=np.int64)
        row[objects.tokens] = np.arange(len(objects.tokens))
        boxes, mask = objects.padded_boxes
        sizes = image_sizes(context.pack.images)
        self.row = torch.from_numpy(row).to(device)
        self.boxes = torch.from_numpy(boxes.astype(np.float32)).to(device)  # [W, K, 4]
        self.mask = torch.from_numpy(mask).to(device)  # [W, K]
        self.sizes = torch.from_numpy(sizes.astype(np.float32)).to(device)  # [I, 4]

    def __call__(self, batch: Batch, training: bool) -> AttentionTargets:
        """The targets at the object words of a batch."""
        if batch.images.boxes is None:
            raise InputError("Supervising attention with true boxes needs features that have boxes: grid or regions.")
        caption, position, token = self.tokens.chosen(batch, self.row >= 0)
        word, owner = self.row[token], batch.owner[caption]
        size = self.sizes[batch.image_rows[owner]].unsqueeze(1)  # [M, 1, 4]
        regions = batch.images.boxes[owner] * size  # [M, R, 4]
        found = overlaps(regions, self.boxes[word] * size)  # [M, R, K]
        best = found.masked_fill(~self.mask[word].unsqueeze(1), 0.0).amax(-1)  # [M, R]
        real = batch.images.mask[owner]
        best = best.masked_fill(~real, 0.0)
        touched = best.amax(-1) > 0
        weights = (best / SOFTNESS).masked_fill(~real, -torch.inf).softmax(-1)
        caption, position, weights = caption[touched], position[touched], weights[touched]
        correct = (best > CORRECT)[touched]
        return AttentionTargets(caption, position, weights, correct, torch.ones_like(caption, dtype=torch.bool))


def overlaps(first: Tensor, second: Tensor) -> Tensor:
    """Intersection over union [M, R, K] of pixel boxes [M, R, 4] and [M, K, 4], with the +1 of `overlap` in metrics."""
    one, two = first.unsqueeze(2), second.unsqueeze(1)
    corner = torch.minimum(one[..., 2:], two[..., 2:]) - torch.maximum(one[..., :2], two[..., :2]) + 1
    shared = corner.clamp(min=0).prod(-1)
    area_one = (one[..., 2:] - one[..., :2] + 1).prod(-1)
    area_two = (two[..., 2:] - two[..., :2] + 1).prod(-1)
    return shared / (area_one + area_two - shared)
