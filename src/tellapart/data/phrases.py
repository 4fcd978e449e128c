"""Placing the phrases of Flickr30k Entities on the words of a pack's captions.

The sentences of Entities are edited copies of the captions in another order ("grey" is "gray", "near by" is "nearby").
So equal word lists are matched first, the others by similarity, and phrases follow an alignment of the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from tellapart.data.pack_types import Caption, Phrase
from tellapart.data.readers.entities import EntityImage, Mention
from tellapart.data.readers.source import Skipped
from tellapart.text.rules import TextRules
from tellapart.text.tokens import Word

LEAST_SIMILARITY = 0.5
"""Smallest similarity of a sentence and the caption it is matched to."""


def join_phrases(
    entities: Mapping[int, EntityImage],
    captions: Sequence[Caption],
    captions_of: Mapping[int, list[int]],
    rules: TextRules,
) -> tuple[list[Phrase], list[Skipped]]:
    """Phrases of all captions, and what could not be placed. `entities` and `captions_of` are keyed by image row."""
    phrases: list[Phrase] = []
    skipped: list[Skipped] = []
    for image, annotated in entities.items():
        rows = captions_of.get(image, [])
        sentences = [rules.words_in_place(sentence.text) for sentence in annotated.sentences]
        words = [[word.text for word in sentence] for sentence in sentences]
        pairs = match_sentences([row[: rules.max_length] for row in words], [captions[row].words for row in rows])
        for number, sentence in enumerate(annotated.sentences):
            where = f"{annotated.where}, line {number + 1}"
            if number not in pairs:
                reason = "no caption of the image is similar to it; its phrases are skipped"
                skipped.append(Skipped("unmatched sentence", sentence.text[:60], where, reason))
                continue
            row = rows[pairs[number]]
            places = align(words[number], captions[row].words)
            for mention in sentence.mentions:
                span = _span(mention, sentences[number], places)
                if span is None:
                    item = sentence.text[mention.start : mention.end]
                    reason = f"none of its words is in '{' '.join(captions[row].words)}'"
                    skipped.append(Skipped("phrase without words", item, where, reason))
                    continue
                boxes = annotated.boxes.get(mention.entity, ())
                phrases.append(Phrase(row, *span, boxes, mention.entity, mention.kinds))
    phrases.sort(key=lambda phrase: (phrase.caption, phrase.first))
    return phrases, skipped


def match_sentences(sentences: Sequence[Sequence[str]], captions: Sequence[Sequence[str]]) -> dict[int, int]:
    """{sentence: caption}, one to one: equal ones first, then the most similar."""
    pairs: dict[int, int] = {}
    free = list(range(len(captions)))
    for number, words in enumerate(sentences):
        same = next((c for c in free if list(captions[c]) == list(words)), None)
        if same is not None:
            pairs[number] = same
            free.remove(same)
    left = [number for number in range(len(sentences)) if number not in pairs]
    similar = sorted(
        (
            (SequenceMatcher(None, sentences[number], captions[c], autojunk=False).ratio(), -number, -c)
            for number in left
            for c in free
        ),
        reverse=True,
    )
    for ratio, number, c in similar:
        if ratio >= LEAST_SIMILARITY and -number not in pairs and -c in free:
            pairs[-number] = -c
            free.remove(-c)
    return pairs


def align(words: Sequence[str], caption: Sequence[str]) -> list[tuple[int, int] | None]:
    """For each word of the sentence, the words first … last - 1 of the caption that stand for it, or None.

    >>> align(["a", "sheepdog", "runs"], ["a", "sheep", "dog", "runs"])
    [(0, 1), (1, 3), (3, 4)]
    """
    if list(words[: len(caption)]) == list(caption):
        return [(index, index + 1) if index < len(caption) else None for index in range(len(words))]
    places: list[tuple[int, int] | None] = [None] * len(words)
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, words, caption, autojunk=False).get_opcodes():
        if kind == "equal" or (kind == "replace" and i2 - i1 == j2 - j1):
            for offset in range(i2 - i1):
                places[i1 + offset] = (j1 + offset, j1 + offset + 1)
        elif kind == "replace":
            places[i1:i2] = [(j1, j2)] * (i2 - i1)
    return places


def _span(mention: Mention, words: Sequence[Word], places: Sequence[tuple[int, int] | None]) -> tuple[int, int] | None:
    inside = [
        place
        for word, place in zip(words, places, strict=True)
        if place is not None and word.start < mention.end and word.end > mention.start
    ]
    return (min(first for first, _ in inside), max(last for _, last in inside)) if inside else None
