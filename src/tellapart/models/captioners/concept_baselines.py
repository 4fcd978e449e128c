"""Two baselines of R2M without training: the image's concepts joined, and the corpus sentence that shares most of
them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.concepts_column import IMAGE_CONCEPTS, SENTENCE_CONCEPTS
from tellapart.data.pack import Pack
from tellapart.text.vocabulary import PAD

NO_CONCEPT = "picture"
"""Named where an image has no concept; published results depend on it."""
CHUNK = 1024
"""Images compared with the corpus at once."""


def joined_concepts(concepts: Sequence[str]) -> str:
    """The concepts joined by "and".

    >>> joined_concepts(["person", "umbrella"])
    'a person and an umbrella'
    >>> joined_concepts([]) == f"a {NO_CONCEPT}"
    True
    """
    named = concepts or [NO_CONCEPT]
    return " and ".join(f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in named)


def joined_captions(pack: Pack, images: np.ndarray) -> list[str]:
    """`joined_concepts` for image rows of a pack, the most confident concept first."""
    words = pack.vocabulary.words
    rows = pack.column(IMAGE_CONCEPTS).values[images]
    return [joined_concepts([words[index] for index in row[::-1] if index != PAD]) for row in rows.tolist()]


def nearest_captions(pack: Pack, images: np.ndarray, split: str = "train") -> list[str]:
    """For each image the unpaired sentence with the most similar concepts (`nearest_sentences`)."""
    captions = pack.split(split).captions
    captions = captions[pack.owner[captions] < 0]
    if not len(captions):
        raise InputError(f"The split '{split}' of {pack.folder} has no unpaired sentences to choose from.")
    rows = nearest_sentences(
        pack.column(IMAGE_CONCEPTS).values[images], pack.column(SENTENCE_CONCEPTS).values[captions]
    )
    return [" ".join(pack.captions[caption].words) for caption in captions[rows].tolist()]


def nearest_sentences(images: np.ndarray, sentences: np.ndarray) -> np.ndarray:
    """The row [I] of the sentence whose concepts [C, k] overlap most with each image's [I, k]; PAD means none.

    Overlap is shared concepts over all concepts of the two (Jaccard). The earliest sentence wins a tie. Sentences
    with the same concepts are compared once.
    """
    known = np.unique(np.concatenate([images.ravel(), sentences.ravel()]))
    known = known[known != PAD]
    sets, first = np.unique(np.packbits(_many_hot(sentences, known), axis=1), axis=0, return_index=True)
    order = np.argsort(first)
    first = first[order]
    in_sentences = np.unpackbits(sets[order], axis=1, count=len(known)).astype(np.float32)  # [U, K]
    in_images = _many_hot(images, known).astype(np.float32)  # [I, K]
    best = []
    for start in range(0, len(in_images), CHUNK):
        part = in_images[start : start + CHUNK]
        shared = part @ in_sentences.T  # [i, U]
        union = part.sum(1)[:, None] + in_sentences.sum(1)[None, :] - shared
        best.append(first[np.argmax(shared / np.maximum(union, 1), axis=1)])
    return np.concatenate(best) if best else np.zeros(0, dtype=np.int64)


def _many_hot(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
    """[N, K] bool: which of the known ids each row [N, k] contains."""
    hot = np.zeros((len(rows), len(known)), dtype=np.bool_)
    row, place = np.nonzero(rows != PAD)
    hot[row, np.searchsorted(known, rows[row, place])] = True
    return hot
