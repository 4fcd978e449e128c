"""Where a captioner attends while it generates captions, and which objects these mention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tellapart.core.protocols import Captioner
from tellapart.data.object_words import ObjectWords
from tellapart.data.own_text import pack_of_words
from tellapart.evaluation.captions import MAX_WORDS, token_cider
from tellapart.evaluation.chunks import CHUNK, chunks
from tellapart.evaluation.grounding_maps import generated_by_maps
from tellapart.metrics.grounding.attention import (
    GeneratedWords,
    GroundingOutcomes,
    References,
    compare_captions,
    grounding_scores,
    hallucination,
)
from tellapart.metrics.grounding.boxes import image_sizes
from tellapart.models.captioners.pretrained import PretrainedCaptionerModel
from tellapart.models.decoding import greedy
from tellapart.objectives.context import Context


@dataclass(frozen=True)
class GroundedCaptions:
    """Greedy captions of some images, compared with every reference."""

    outcomes: GroundingOutcomes
    tokens: Tensor  # [I, T]
    said: np.ndarray  # [P] classes of the object words that they mention
    metrics: dict[str, float]


def ground_captions(
    model: Captioner, context: Context, objects: ObjectWords, image_rows: np.ndarray, captions: np.ndarray
) -> GroundedCaptions:
    """Greedy captions of images compared with every reference."""
    if isinstance(model, PretrainedCaptionerModel):
        mentions, tokens = generated_by_maps(model, context, objects, image_rows)
    else:
        mentions, tokens = _generated(model, context, objects, image_rows)
    longest = max(part.shape[1] for part in tokens)
    whole = torch.cat([torch.nn.functional.pad(part, (0, longest - part.shape[1])) for part in tokens])
    outcomes = compare_captions(mentions, references_of(context, objects, captions), image_sizes(context.pack.images))
    classes_mentioned, owner = _mentioned(context, objects, image_rows)
    metrics = {"cider": token_cider(context, image_rows, whole)}
    metrics |= grounding_scores(outcomes, len(objects.classes))
    metrics |= hallucination(mentions, len(image_rows), classes_mentioned, owner)
    return GroundedCaptions(outcomes, whole, mentions.word_class, metrics)


def _generated(
    model: Captioner, context: Context, objects: ObjectWords, image_rows: np.ndarray
) -> tuple[GeneratedWords, list[Tensor]]:
    """Object words of greedy captions with the regions that they attend to most, and the captions' tokens by batch."""
    class_of = torch.from_numpy(objects.vocabulary_class.astype(np.int64)).to(context.device)
    parts, tokens = [], []
    for rows in chunks(image_rows, context.at_once(CHUNK)):
        images = context.batches.images(rows)
        decoded = greedy(model, images, MAX_WORDS)
        assert decoded.attention is not None and images.boxes is not None
        classes = class_of[decoded.tokens]  # [I, T]
        row, step = (classes >= 0).nonzero(as_tuple=True)
        box = images.boxes[row, decoded.attention[row, step].argmax(-1)]
        parts.append(
            GeneratedWords(
                rows[row.cpu().numpy()], classes[row, step].cpu().numpy(), box.cpu().numpy().astype(np.float64)
            )
        )
        tokens.append(decoded.tokens.cpu())
    mentions = GeneratedWords(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("image", "word_class", "box"))
    )
    return mentions, tokens


def references_of(context: Context, objects: ObjectWords, captions: np.ndarray) -> References:
    """Annotated and other object words of these captions (rows of the pack)."""
    captions = np.sort(captions)
    words = objects.of_captions(captions)
    boxes, mask = objects.padded_boxes
    other = np.setdiff1d(np.flatnonzero(objects.token_class >= 0), objects.tokens, assume_unique=True)
    pack = pack_of_words(context.pack)
    caption = np.searchsorted(pack.offsets, other, side="right") - 1
    inside = np.isin(caption, captions)
    return References(
        pack.owner[captions],
        np.searchsorted(captions, objects.caption[words]),
        word_class=objects.word_class[words].astype(np.int64),
        boxes=boxes[words],
        box_mask=mask[words],
        other_caption=np.searchsorted(captions, caption[inside]),
        other_class=objects.token_class[other[inside]].astype(np.int64),
    )


def _mentioned(context: Context, objects: ObjectWords, image_rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Classes that any word of the captions of these images mentions, and the images that these captions describe."""
    token = np.flatnonzero(objects.token_class >= 0)
    pack = pack_of_words(context.pack)
    owner = pack.owner[np.searchsorted(pack.offsets, token, side="right") - 1]
    inside = np.isin(owner, image_rows)
    return objects.token_class[token[inside]].astype(np.int64), owner[inside]
