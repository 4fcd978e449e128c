"""Grounding of captioners of transformers: attention rolled out onto patches, and from there to boxes.

Such a model reads and generates the pieces of a tokenizer. A word attends as its pieces do on average; the box of
its attention map (`metrics.grounding.map_boxes`) is compared like a region of other captioners.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.data.object_words import ObjectWords
from tellapart.data.own_text import pack_of_words
from tellapart.evaluation.captions import MAX_WORDS
from tellapart.evaluation.chunks import chunks
from tellapart.losses.likelihood import WordCrossEntropy
from tellapart.metrics.grounding.attention import THRESHOLD, GeneratedWords, Outcomes
from tellapart.metrics.grounding.boxes import best_overlap, image_sizes
from tellapart.metrics.grounding.map_boxes import inside_any, map_boxes, points
from tellapart.models.captioners.pretrained import PretrainedCaptionerModel
from tellapart.models.decoding import greedy
from tellapart.models.hub.decoders import patches
from tellapart.objectives.context import Context
from tellapart.text.model_tokenizer import TokenizerVocabulary
from tellapart.text.object_words import ObjectClasses
from tellapart.text.piece_spans import piece_ends, pieces_of, spans_of_words, words_in
from tellapart.text.vocabulary import END, PAD

AT_ONCE = 32
"""Captions read at once: attention of every layer and head is kept until it is rolled out."""


def check_maps(model: PretrainedCaptionerModel) -> None:
    """Raise an InputError for a captioner whose words do not attend to the image alone."""
    if not model.family.attends:
        raise InputError(
            f"A model of kind {model.model.config.model_type} reads image and words in one sequence, so its words have "
            "no attention over the image to evaluate; give BLIP or ViT-GPT2."
        )


@dataclass(frozen=True)
class Attended:
    """Where words of true captions attend: by the box of the map, and by its strongest cell."""

    boxes: Outcomes
    points: Outcomes
    loss: float


@torch.no_grad()
def read_by_maps(
    model: PretrainedCaptionerModel, context: Context, objects: ObjectWords, captions: np.ndarray
) -> Attended:
    """Attention of annotated words of true captions, and the loss per piece. Words that were cut are left out."""
    pack, vocabulary = pack_of_words(context.pack), _vocabulary(context)
    sizes, (truths, mask) = image_sizes(pack.images), objects.padded_boxes
    parts: list[tuple[np.ndarray, ...]] = []
    loss, total, count = WordCrossEntropy(), 0.0, 0
    for rows in chunks(captions, context.at_once(AT_ONCE)):
        batch = context.batches.batch(rows)
        tokens = batch.texts.tokens
        forced = model.attend(model.rows(batch.images)[batch.owner], tokens)
        real = tokens[:, 1:] != PAD
        total += float(loss.per_word(forced.logits[real], tokens[:, 1:][real]).sum())
        count += int(real.sum())
        assert forced.attention is not None
        place = {int(row): number for number, row in enumerate(rows)}
        spans = [_spans(vocabulary, tokens[number], pack.captions[row].words) for row, number in place.items()]
        for word in objects.of_captions(rows):
            number = place[int(objects.caption[word])]
            span = spans[number][int(objects.place[word])]
            if span is None:
                continue
            image = int(pack.owner[objects.caption[word]])
            seen = _map(forced.attention[number, span[0] : span[1]])
            window = _window(context, image)
            box, point = _in_image(map_boxes(seen), window), _in_image(np.tile(points(seen), 2), window)[:, :2]
            own, kept = truths[word][None], mask[word][None]
            hit = best_overlap(box, own, kept, sizes[image][None]) > THRESHOLD
            parts.append((np.array([image]), objects.word_class[[word]], hit, inside_any(point, own, kept)))
    if not parts:
        raise InputError("No annotated word of these captions is among the pieces that the model reads.")
    images, classes, box_hit, point_hit = (np.concatenate(column) for column in zip(*parts))
    return Attended(Outcomes(images, classes, box_hit), Outcomes(images, classes, point_hit), total / max(count, 1))


@torch.no_grad()
def generated_by_maps(
    model: PretrainedCaptionerModel, context: Context, objects: ObjectWords, image_rows: np.ndarray
) -> tuple[GeneratedWords, list[Tensor]]:
    """Object words of greedy captions with the boxes of their attention, and the captions' tokens by batch."""
    classes, vocabulary = ObjectClasses(objects.classes), _vocabulary(context)
    splitter = str(pack_of_words(context.pack).manifest.get("rules", {}).get("words", "ptb"))
    found: list[tuple[int, int, np.ndarray]] = []
    tokens = []
    for rows in chunks(image_rows, context.at_once(AT_ONCE)):
        decoded = greedy(model, context.batches.images(rows), MAX_WORDS)
        assert decoded.attention is not None
        tokens.append(decoded.tokens.cpu())
        for number, image in enumerate(rows.tolist()):
            text, ends = piece_ends(vocabulary, _before_end(decoded.tokens[number]))
            for word in words_in(text, splitter):
                word_class, span = classes.of(word.text.lower()), pieces_of(ends, word.start, word.end)
                if word_class < 0 or span is None:
                    continue
                seen = _map(decoded.attention[number, span[0] : span[1]])
                found.append((image, word_class, _in_image(map_boxes(seen), _window(context, image))[0]))
    image, said = (np.asarray([row[column] for row in found], np.int64) for column in (0, 1))
    return GeneratedWords(image, said, np.asarray([row[2] for row in found], np.float64).reshape(-1, 4)), tokens


def _vocabulary(context: Context) -> TokenizerVocabulary:
    vocabulary = context.inputs.vocabulary
    assert isinstance(vocabulary, TokenizerVocabulary)
    return vocabulary


def _before_end(tokens: Tensor) -> list[int]:
    found: list[int] = tokens.tolist()
    return found[: found.index(END)] if END in found else found


def _spans(vocabulary: TokenizerVocabulary, tokens: Tensor, words: tuple[str, ...]) -> list[tuple[int, int] | None]:
    """The pieces of each word of a caption: row k of its attention is that of predicting piece k."""
    text, ends = piece_ends(vocabulary, _before_end(tokens[1:]))
    return spans_of_words(text, ends, words)


def _map(attention: Tensor) -> np.ndarray:
    """The mean of the attention [n, R] of some pieces, over the patches alone: [1, s, s]."""
    extra, side = patches(attention.shape[1])
    mean = attention.mean(0)[extra:].reshape(1, side, side)
    return np.asarray(mean.float().cpu().numpy(), np.float64)


def _window(context: Context, image: int) -> np.ndarray:
    """The part of the image that the model sees."""
    own = context.batches.own
    return np.array((0.0, 0.0, 1.0, 1.0) if own is None else own.window(image))


def _in_image(boxes: np.ndarray, window: np.ndarray) -> np.ndarray:
    """Boxes [N, 4] in fractions of what the model sees, as fractions of the image."""
    size = np.tile(window[2:] - window[:2], 2)
    found: np.ndarray = np.tile(window[:2], 2) + boxes * size
    return found
