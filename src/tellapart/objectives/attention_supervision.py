"""Where a captioner should look when it says a word: as a frozen matcher looks, or at true boxes.

Targets are found by the captions' rows in the pack, so batches need bring nothing along. Neither class is an nn.Module:
they learn nothing and have nothing to save.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.types import Batch
from tellapart.data.batches import Batches
from tellapart.data.object_words import open_objects
from tellapart.data.sampling import split_rows
from tellapart.metrics.grounding.boxes import image_sizes
from tellapart.models.matchers.detected_attention import DetectedAttention
from tellapart.models.matchers.word_attention import word_attention
from tellapart.objectives.context import Context

CHUNK = 512
RIGHT = 0.5
"""A region is right when its overlap with the true box is over this (Eq. 16)."""
SOFTNESS = 0.5
"""True boxes as a distribution: softmax(overlap / SOFTNESS), as in the released code."""


@dataclass(frozen=True)
class AttentionTargets:
    """M supervised words: sentence `sentence[m]` of the batch, its word `place[m]`, and where to look."""

    sentence: Tensor  # [M]
    place: Tensor  # [M]
    weights: Tensor  # [M, R] alpha, sums to one
    right: Tensor  # [M, R] bool, gamma
    real: Tensor  # [M] bool: False for rows that `filled` added

    def filled(self, multiple: int) -> AttentionTargets:
        """With rows that stand for nothing, up to a multiple of so many."""
        missing = -len(self.sentence) % multiple
        return AttentionTargets(
            functional.pad(self.sentence, (0, missing)),
            functional.pad(self.place, (0, missing)),
            functional.pad(self.weights, (0, 0, 0, missing)),
            functional.pad(self.right, (0, 0, 0, missing)),
            functional.pad(self.real, (0, missing)),
        )


class TokenLookup:
    """Finds a batch's words among the pack's tokens."""

    def __init__(self, context: Context) -> None:
        self.offsets = torch.from_numpy(np.asarray(context.pack.offsets)).to(context.device)

    def chosen(self, batch: Batch, mark: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Sentences [M], places [M] and rows among the pack's tokens [M] of the words where `mark` [N] is true."""
        tokens = batch.texts.tokens
        place = torch.arange(tokens.shape[1] - 2, device=tokens.device)
        inside = place < batch.texts.lengths.unsqueeze(1) - 2  # [C, n]; START and END are no words
        token = self.offsets[batch.caption_rows].unsqueeze(1) + place
        token = torch.where(inside, token, 0)
        sentence, place = (inside & mark[token]).nonzero(as_tuple=True)
        return sentence, place, token[sentence, place]


class TeacherAttention:
    """A frozen matcher's attention at each noun (Eq. 15). It never changes, so with `stored` the matcher is asked about
    the whole training split once, when the first batch comes, and its answers are kept in half precision."""

    def __init__(self, context: Context, teacher: str, stored: bool = True, among: str = "all") -> None:
        if not context.pack.has_column("nouns"):
            raise InputError(f"{context.pack.folder} has no noun marks; make them with `tellapart annotate --nouns`.")
        self.context, self.teacher, self.stored = context, context.model(teacher), stored
        self.trusted = DetectedAttention(among, context.store, context.device)
        self.tokens = TokenLookup(context)
        self.nouns = torch.from_numpy(np.array(context.pack.column("nouns").values, dtype=np.bool_)).to(context.device)
        # The teacher reads sentences with their noun marks, cut where the captioner's are cut.
        self.batches = Batches(context.pack, context.store, ("nouns",), context.device, context.batches.longest)
        self.row: Tensor | None = None  # [N] where a token's attention is kept, -1 where it is not
        self.kept = torch.zeros(0)  # [M, R]

    def __call__(self, batch: Batch, training: bool) -> AttentionTargets:
        sentence, place, token = self.tokens.chosen(batch, self.nouns)
        if self.stored and training:
            if self.row is None:
                self._fill()
            weights = self.kept[self.row[token]].float()[:, : batch.images.features.shape[1]]  # type: ignore[index]
        else:
            weights = self._ask(self.batches.batch(batch.caption_rows.cpu().numpy()))[sentence, place]
        weights = self.trusted(weights, batch.image_rows[batch.owner[sentence]])
        looked = weights.sum(-1) > 0
        sentence, place, weights = sentence[looked], place[looked], weights[looked]
        right = weights == weights.amax(-1, keepdim=True)
        return AttentionTargets(sentence, place, weights, right, torch.ones_like(sentence, dtype=torch.bool))

    def _ask(self, batch: Batch) -> Tensor:
        """alpha [C, n, R] at each word of a batch; rows of words the teacher passes over are zero."""
        return word_attention(self.teacher, batch.images, batch.texts, batch.owner)[:, 1:-1]

    def _fill(self) -> None:
        captions = split_rows(self.context.pack, self.context.train_split).captions
        captions = captions[self.context.pack.owner[captions] >= 0]
        self.row = torch.full((len(self.nouns),), -1, dtype=torch.long, device=self.nouns.device)
        regions = self.context.store.most_rows if self.context.store is not None else 0
        parts, count = [], 0
        for first in range(0, len(captions), CHUNK):
            batch = self.batches.batch(captions[first : first + CHUNK])
            sentence, place, token = self.tokens.chosen(batch, self.nouns)
            weights = self._ask(batch)[sentence, place].half()  # [m, r]
            parts.append(torch.nn.functional.pad(weights, (0, regions - weights.shape[1])))
            self.row[token] = torch.arange(count, count + len(token), device=token.device)
            count += len(token)
        self.kept = torch.cat(parts)


class BoxAttention:
    """True boxes as targets: weights softmax(overlap / 0.5), right where a region overlaps over 0.5 (Eq. 16).

    Words whose box no region touches are passed over: nothing there is right.
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
        if batch.images.boxes is None:
            raise InputError("Supervising attention with true boxes needs features that have boxes: grid or regions.")
        sentence, place, token = self.tokens.chosen(batch, self.row >= 0)
        word, owner = self.row[token], batch.owner[sentence]
        size = self.sizes[batch.image_rows[owner]].unsqueeze(1)  # [M, 1, 4]
        regions = batch.images.boxes[owner] * size  # [M, R, 4]
        found = overlaps(regions, self.boxes[word] * size)  # [M, R, K]
        best = found.masked_fill(~self.mask[word].unsqueeze(1), 0.0).amax(-1)  # [M, R]
        real = batch.images.mask[owner]
        best = best.masked_fill(~real, 0.0)
        touched = best.amax(-1) > 0
        weights = (best / SOFTNESS).masked_fill(~real, -torch.inf).softmax(-1)
        sentence, place, weights, right = sentence[touched], place[touched], weights[touched], (best > RIGHT)[touched]
        return AttentionTargets(sentence, place, weights, right, torch.ones_like(sentence, dtype=torch.bool))


def overlaps(first: Tensor, second: Tensor) -> Tensor:
    """Intersection over union [M, R, K] of pixel boxes [M, R, 4] and [M, K, 4], with the +1 of `metrics.boxes`."""
    one, two = first.unsqueeze(2), second.unsqueeze(1)
    corner = torch.minimum(one[..., 2:], two[..., 2:]) - torch.maximum(one[..., :2], two[..., :2]) + 1
    shared = corner.clamp(min=0).prod(-1)
    area_one = (one[..., 2:] - one[..., :2] + 1).prod(-1)
    area_two = (two[..., 2:] - two[..., :2] + 1).prod(-1)
    return shared / (area_one + area_two - shared)
