"""Joining images of one pack and sentences of another: the data of captioning without pairs (R2M, section 3.1).

The joined pack has no caption of a training image. Of the captions of the image pack it keeps only those of the test
split, for scoring; every other sentence comes from the corpus and has no image. A share of the corpus becomes `val`, so
that choosing a checkpoint needs no captioned image either.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError, Step
from tellapart.core.files import atomic_folder
from tellapart.core.paths import OnePath
from tellapart.data.concepts_column import ConceptReport, annotate_concepts, check_concepts
from tellapart.data.pack import Pack
from tellapart.data.pack_types import NO_IMAGE, Caption
from tellapart.data.shared_features import share_features
from tellapart.data.write_pack import check_overwrite, write_pack
from tellapart.text.concepts import ConceptDictionary
from tellapart.text.rules import TextRules
from tellapart.text.vocabulary import Vocabulary

SCORED_SPLIT = "test"


@dataclass(frozen=True)
class CorpusFilter:
    """Which sentences of the corpus to keep (R2M uses the filters of UC-GAN)."""

    least_words: int = 8
    """Drop sentences with fewer words."""
    most_unknown: float = 0.15
    """Drop sentences with a larger share of words outside the vocabulary."""
    needs_concept: bool = True
    """Drop sentences without a visual concept."""
    least_count: int | None = None
    """Smallest number of occurrences in the corpus of a word in the vocabulary. Default: as the corpus was prepared (15
    with the rules r2m)."""
    held_out: float = 0.01
    """Share of the corpus to use as `val` if the corpus has no `val`."""


@dataclass(frozen=True)
class Joined:
    """A joined pack and what became of the corpus."""

    pack: Pack
    report: ConceptReport
    counts: dict[str, int]
    """Sentences read from the corpus, dropped by each filter, and kept."""


def join_unpaired(
    images: Pack,
    corpus: Pack,
    out: OnePath,
    *,
    dictionary: ConceptDictionary | None = None,
    filters: CorpusFilter | None = None,
    least_score: float = 0.3,
    most: int = 5,
    overwrite: bool = False,
) -> Joined:
    """Write a pack of the images of one pack and the sentences of another, with their concepts.

    Features of the image pack are included (hard links if the disk allows them), since its images keep their rows.
    """
    folder = Path(out)
    dictionary = dictionary or ConceptDictionary.coco()
    filters = _with_count(filters or CorpusFilter(), corpus)
    _check_packs(images, corpus, folder)
    check_overwrite(folder, overwrite)
    check_concepts(images, most)
    vocabulary = corpus_vocabulary(corpus, dictionary, filters.least_count or 1)
    kept, counts = filter_corpus(corpus, vocabulary, dictionary, filters)
    if not kept.any():
        raise InputError(
            f"No sentence of {corpus.folder} passes the filters ({counts}); loosen them or change the dictionary."
        )
    captions = _corpus_captions(corpus, kept, filters.held_out) + _scored_captions(images)
    rules: dict[str, Any] = dict(images.manifest.get("rules", {}))
    rules |= {"unpaired": {"pictures": images.fingerprint, "corpus": corpus.fingerprint, "filters": asdict(filters)}}
    with atomic_folder(folder) as partial:  # the pack appears with its features and concepts
        pack = write_pack(
            partial,
            f"{images.manifest['name']} with {corpus.manifest['name']}",
            root=os.path.abspath(images.folder / images.manifest.get("root", "")),
            images=images.images,
            captions=captions,
            vocabulary=vocabulary,
            rules=rules,
            detections=list(images.detections.values()),
            report={"corpus": counts},
        )
        share_features(images, partial)
        report = annotate_concepts(pack, dictionary, least_score, most)
    return Joined(Pack(folder), report, counts)


def _with_count(filters: CorpusFilter, corpus: Pack) -> CorpusFilter:
    """The filters with a smallest count: their own, or the one that the corpus was prepared with."""
    prepared = int(corpus.manifest.get("rules", {}).get("min_count", TextRules.min_count))
    return replace(filters, least_count=prepared if filters.least_count is None else filters.least_count)


def corpus_vocabulary(corpus: Pack, dictionary: ConceptDictionary, least_count: int) -> Vocabulary:
    """Words of the corpus, most frequent first, then the concepts that are not among them (R2M, section 3.2)."""
    counted = Counter(word for caption in corpus.captions for word in caption.words)
    frequent = [word for word, count in counted.items() if count >= least_count]
    frequent.sort(key=lambda word: (-counted[word], word))
    return Vocabulary.from_words(dict.fromkeys([*frequent, *dictionary.concepts]))


def filter_corpus(
    corpus: Pack, vocabulary: Vocabulary, dictionary: ConceptDictionary, filters: CorpusFilter
) -> tuple[np.ndarray, dict[str, int]]:
    """Which sentences to keep [C] bool, and how many each filter drops (counted for the first filter that fails)."""
    sentences = [caption.words for caption in corpus.captions]
    lengths = np.fromiter((len(words) for words in sentences), np.int64, len(sentences))
    known = vocabulary.ids
    unknown = np.fromiter((sum(w not in known for w in words) for words in sentences), np.int64, len(sentences))
    long_enough = lengths >= filters.least_words
    mostly_known = unknown <= filters.most_unknown * lengths
    if filters.needs_concept:
        with_concept = np.fromiter((bool(dictionary.of_sentence(w)) for w in sentences), np.bool_, len(sentences))
    else:
        with_concept = np.ones(len(sentences), dtype=np.bool_)
    kept = long_enough & mostly_known & with_concept
    counts = {
        "sentences": len(sentences),
        "too short": int((~long_enough).sum()),
        "too many unknown words": int((long_enough & ~mostly_known).sum()),
        "no concept": int((long_enough & mostly_known & ~with_concept).sum()),
        "kept": int(kept.sum()),
    }
    return kept, counts


def _check_packs(images: Pack, corpus: Pack, folder: Path) -> None:
    if not images.images:
        raise InputError(f"{images.folder} has no images; give the image pack first and the corpus second.")
    if (corpus.owner >= 0).any():
        raise InputError(
            f"{corpus.folder} has captions of images; prepare the corpus from text alone.",
            Step("prepare", "FILE", out="PACK", format="corpus"),
        )
    if Path(folder).resolve() in (images.folder.resolve(), corpus.folder.resolve()):
        raise InputError(f"{folder} is one of the packs to join; give the joined pack another folder.")


def _corpus_captions(corpus: Pack, kept: np.ndarray, held_out: float) -> list[Caption]:
    """The kept sentences in train and val: as the corpus splits them, or at random if it has no val."""
    rows, read = np.flatnonzero(kept), corpus.captions
    validation = {row for row in rows.tolist() if read[row].split == "val"}
    if not validation:
        validation = set(np.random.default_rng(0).permutation(rows)[: round(held_out * len(rows))].tolist())
    return [
        Caption(NO_IMAGE, read[row].text, read[row].words, "val" if row in validation else "train")
        for row in rows.tolist()
    ]


def _scored_captions(images: Pack) -> list[Caption]:
    """Captions of test images only, for metrics to compare with."""
    test = {row for row, image in enumerate(images.images) if image.split == SCORED_SPLIT}
    return [
        Caption(caption.image, caption.text, caption.words, SCORED_SPLIT)
        for caption in images.captions
        if caption.image in test
    ]
