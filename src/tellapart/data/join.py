"""Images from one pack, sentences from another: the data of captioning without pairs (R2M, section 3.1).

The joined pack holds no caption of an image to learn from, by construction: of the image pack's captions only
those of its test split are carried over, for scoring; every other sentence comes from the corpus and owns no image.
A share of the corpus is held out as `val`, so that a checkpoint can be chosen without a captioned image either.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder
from tellapart.core.paths import OnePath
from tellapart.data.concepts_column import ConceptReport, annotate_concepts, check_concepts
from tellapart.data.pack import Pack
from tellapart.data.pack_types import NO_IMAGE, Caption
from tellapart.data.shared_features import share_features
from tellapart.data.write_pack import check_overwrite, write_pack
from tellapart.text.concepts import ConceptDictionary
from tellapart.text.vocabulary import Vocabulary

SCORED_SPLIT = "test"


@dataclass(frozen=True)
class CorpusFilter:
    """Which sentences of the corpus are worth learning from (R2M follows UC-GAN's filters)."""

    least_words: int = 8
    """Shorter sentences are left out."""
    most_unknown: float = 0.15
    """Sentences with a greater share of words outside the vocabulary are left out."""
    needs_concept: bool = True
    """Sentences without a single visual concept are left out."""
    least_count: int = 5
    """A word belongs to the vocabulary from this many occurrences in the corpus."""
    held_out: float = 0.01
    """Share of the corpus kept as `val`, to measure the loss on, where the corpus has no `val` of its own."""


@dataclass(frozen=True)
class Joined:
    pack: Pack
    report: ConceptReport
    counts: dict[str, int]
    """Corpus sentences read, and how many each filter left out."""


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
    filters = filters or CorpusFilter()
    _check_packs(images, corpus, folder)
    check_overwrite(folder, overwrite)
    check_concepts(images, most)
    vocabulary = corpus_vocabulary(corpus, dictionary, filters.least_count)
    kept, counts = filter_corpus(corpus, vocabulary, dictionary, filters)
    if not kept.any():
        raise InputError(
            f"No sentence of {corpus.folder} passes the filters ({counts}); loosen them or change the dictionary."
        )
    captions = _corpus_captions(corpus, kept, filters.held_out) + _scored_captions(images)
    rules: dict[str, Any] = dict(images.manifest.get("rules", {}))
    rules |= {"unpaired": {"pictures": images.fingerprint, "corpus": corpus.fingerprint, "filters": asdict(filters)}}
    with atomic_folder(folder) as partial:  # features and concepts belong to it as much as the words do
        pack = write_pack(
            partial,
            f"{images.manifest['name']} with {corpus.manifest['name']}",
            os.path.abspath(images.folder / images.manifest.get("root", "")),
            images.images,
            captions,
            vocabulary,
            rules,
            detections=list(images.detections.values()),
            report={"corpus": counts},
        )
        share_features(images, partial)
        report = annotate_concepts(pack, dictionary, least_score, most)
    return Joined(Pack(folder), report, counts)


def corpus_vocabulary(corpus: Pack, dictionary: ConceptDictionary, least_count: int) -> Vocabulary:
    """Words of the corpus, most frequent first, and then the concepts that are not among them (R2M, section 3.2)."""
    counted = Counter(word for caption in corpus.captions for word in caption.words)
    frequent = [word for word, count in counted.items() if count >= least_count]
    frequent.sort(key=lambda word: (-counted[word], word))
    return Vocabulary.from_words(dict.fromkeys([*frequent, *dictionary.concepts]))


def filter_corpus(
    corpus: Pack, vocabulary: Vocabulary, dictionary: ConceptDictionary, filters: CorpusFilter
) -> tuple[np.ndarray, dict[str, int]]:
    """Which sentences to keep [C] bool, and how many each filter left out (a sentence counts for the first that
    fails)."""
    sentences = [caption.words for caption in corpus.captions]
    lengths = np.fromiter((len(words) for words in sentences), np.int64, len(sentences))
    known = vocabulary.ids
    strangers = np.fromiter((sum(w not in known for w in words) for words in sentences), np.int64, len(sentences))
    long_enough = lengths >= filters.least_words
    mostly_known = strangers <= filters.most_unknown * lengths
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
            f"{corpus.folder} has captions of images; a corpus for learning without pairs must be prepared "
            "as text alone (`tellapart prepare FILE --format corpus`)."
        )
    if Path(folder).resolve() in (images.folder.resolve(), corpus.folder.resolve()):
        raise InputError(f"{folder} is one of the packs to join; give the joined pack another folder.")


def _corpus_captions(corpus: Pack, kept: np.ndarray, held_out: float) -> list[Caption]:
    """The kept sentences in train and val: as the corpus itself has it, or by a fixed random draw where it has no
    val."""
    rows, read = np.flatnonzero(kept), corpus.captions
    apart = {row for row in rows.tolist() if read[row].split == "val"}
    if not apart:
        apart = set(np.random.default_rng(0).permutation(rows)[: round(held_out * len(rows))].tolist())
    return [
        Caption(NO_IMAGE, read[row].text, read[row].words, "val" if row in apart else "train") for row in rows.tolist()
    ]


def _scored_captions(images: Pack) -> list[Caption]:
    """Captions of test images only: metrics compare with them, and nothing else ever sees them."""
    test = {row for row, image in enumerate(images.images) if image.split == SCORED_SPLIT}
    return [
        Caption(caption.image, caption.text, caption.words, SCORED_SPLIT)
        for caption in images.captions
        if caption.image in test
    ]
