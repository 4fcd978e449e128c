"""The last steps of preparing a pack: count the vocabulary, mark nouns, write the pack with its report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.annotate import noun_column
from tellapart.data.assemble import Assembled
from tellapart.data.pack import CAPTION_IDS, Pack
from tellapart.data.pack_types import Caption, Column, Detections, Phrase
from tellapart.data.prepare_report import closing_report
from tellapart.data.readers.source import Skipped
from tellapart.data.splits import CORPUS
from tellapart.data.write_pack import write_pack
from tellapart.text.rules import TextRules
from tellapart.text.vocabulary import SPECIAL, UNK, Vocabulary


def count_vocabulary(rules: TextRules, captions: Iterable[Caption], detections: Iterable[Detections]) -> Vocabulary:
    """The vocabulary of the captions that the rules count, with the words of detector labels if they ask for them."""
    counted = {"train": {"train", CORPUS}, "corpus": {CORPUS}}.get(rules.vocabulary)
    captions = list(captions)
    if rules.vocabulary == "corpus" and all(caption.split != CORPUS for caption in captions):
        counted = {"train"}  # a pack that is nothing but a corpus
    labels = {label for found in detections for label in found.labels} if rules.labels else set()
    always = {word for words in rules.split(sorted(labels)) for word in words}
    chosen = [caption.words for caption in captions if counted is None or caption.split in counted]
    if not chosen:
        raise InputError(
            "No caption is in the train split, so there is no vocabulary; use `vocabulary='all'` or another `split`."
        )
    vocabulary = rules.build_vocabulary(chosen, always)
    if len(vocabulary) == len(SPECIAL):
        raise InputError(
            f"No word occurs {rules.min_count} times, so there is no vocabulary; use a smaller `min_count`."
        )
    return vocabulary


def drop_unusable_sentences(assembled: Assembled, rules: TextRules, vocabulary: Vocabulary) -> None:
    """Remove unpaired sentences that are too short or have too many UNK, as unsupervised captioning does (paper 5)."""
    if rules.min_words == 0 and rules.max_unknown >= 1:
        return
    kept: list[int] = []
    short = mostly_unknown = 0
    for row, caption in enumerate(assembled.captions):
        unknown = vocabulary.encode(caption.words).count(UNK)
        if caption.image >= 0 or (
            len(caption.words) >= rules.min_words and unknown <= rules.max_unknown * len(caption.words)
        ):
            kept.append(row)
        elif len(caption.words) < rules.min_words:
            short += 1
        else:
            mostly_unknown += 1
    # There may be hundreds of thousands: the report counts these two kinds instead of listing each sentence.
    for kind, count, reason in (
        ("short sentence", short, f"fewer than {rules.min_words} words, a text rule"),
        ("sentence of unknown words", mostly_unknown, f"more than {rules.max_unknown:.0%} UNK, a text rule"),
    ):
        if count:
            assembled.skipped.append(Skipped(kind, f"{count:,} sentences", "the corpus", reason))
    assembled.captions = [assembled.captions[row] for row in kept]
    assembled.numbers = [assembled.numbers[row] for row in kept] if assembled.numbers else []


def write_prepared(
    out: Path,
    assembled: Assembled,
    *,
    name: str,
    root: str,
    vocabulary: Vocabulary,
    rules: TextRules,
    phrases: list[Phrase],
    detections: list[Detections],
    nouns: bool,
    facts: dict[str, Any],
    fill: Callable[[Path], None] | None = None,
) -> Pack:
    """The written pack with its report and noun column. `fill` may write more files into it before it appears."""
    captions = assembled.captions
    report = facts | {"rules": rules.as_dict()}
    report |= closing_report(assembled, vocabulary, phrases, detections)
    columns: dict[str, Column] = {}
    if assembled.numbers:
        columns[CAPTION_IDS] = Column(np.asarray(assembled.numbers, dtype=np.int64), "caption", {"of": facts["format"]})
    if nouns and captions:
        marked = noun_column([caption.words for caption in captions], vocabulary)
        columns["nouns"] = marked
        report["nouns"] = {"share": round(float(marked.values.mean()), 4) if len(marked.values) else 0.0}
    return write_pack(
        out,
        name,
        root,
        assembled.images,
        captions,
        vocabulary,
        rules=rules.as_dict(),
        phrases=phrases,
        detections=detections,
        report=report,
        columns=columns,
        fill=fill,
    )
