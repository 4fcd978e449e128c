"""Document frequencies of n-grams for CIDEr: the number of images that mention each one, storable as a file."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from tellapart.core.errors import InputError
from tellapart.metrics.captions.encoded import number_words
from tellapart.metrics.captions.ngrams import Level, levels

ORDER = 4  # CIDEr's longest n-grams


@dataclass(frozen=True)
class DocumentFrequency:
    """Counts of n-grams by code: last word times the number of (n-1)-grams, plus the index of its first n-1 words."""

    words: tuple[str, ...]
    codes: tuple[np.ndarray, ...]
    counts: tuple[np.ndarray, ...]
    images: int

    @classmethod
    def from_references(cls, references: Sequence[Sequence[str]], order: int = ORDER) -> "DocumentFrequency":
        """Count over the tokenised references of each image.

        >>> table = DocumentFrequency.from_references([["a dog", "the dog"], ["a cat"]])
        >>> [table.words[word] for word in table.codes[0]], table.counts[0].tolist()
        (['a', 'dog', 'the', 'cat'], [2, 1, 1, 1])
        """
        words, lengths, vocabulary = number_words([caption for group in references for caption in group])
        sizes = np.fromiter(map(len, references), np.int64, len(references))
        image_of = np.repeat(np.repeat(np.arange(len(references)), sizes), lengths)
        codes: list[np.ndarray] = []
        counts: list[np.ndarray] = []
        for n, level in enumerate(levels(words, lengths, order), start=1):
            image = image_of[level.places]
            first = level.is_new.copy()
            first[1:] |= image[1:] != image[:-1]
            counts.append(np.bincount(level.kinds, first).astype(np.int64))
            places = level.places[level.is_new]
            codes.append(words[places + n - 1] * (len(codes[-1]) if codes else 1) + level.prefix[places])
        return cls(tuple(vocabulary), tuple(codes), tuple(counts), len(references))

    def save(self, path: Path | str) -> None:
        """Write the table as an .npz file (no pickle)."""
        arrays = {f"codes{n}": codes for n, codes in enumerate(self.codes, 1)}
        arrays |= {f"counts{n}": counts for n, counts in enumerate(self.counts, 1)}
        with open(path, "wb") as file:
            arrays |= {"words": np.array(self.words, str), "pictures": np.array(self.images)}
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path | str) -> "DocumentFrequency":
        """A table written by `save`."""
        try:
            with open(path, "rb") as file, np.lib.npyio.NpzFile(file, allow_pickle=False) as stored:
                order = sum(name.startswith("codes") for name in stored.files)
                table = cls(
                    tuple(stored["words"].tolist()),
                    tuple(stored[f"codes{n}"] for n in range(1, order + 1)),
                    tuple(stored[f"counts{n}"] for n in range(1, order + 1)),
                    int(stored["pictures"]),
                )
        # The last two come from a damaged archive.
        except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error, NotImplementedError) as error:
            raise InputError(
                f"{path} is not a stored document frequency table ({error}). "
                "Write one with DocumentFrequency.from_references(...).save(path)."
            ) from error
        if order < ORDER or table.images < 1:
            raise InputError(
                f"{path} counts n-grams of up to {order} words in {table.images} images; CIDEr needs {ORDER} words and "
                "at least one image. Write a table with DocumentFrequency.from_references(...).save(path)."
            )
        return table

    def lookup(self, vocabulary: Mapping[str, int]) -> "Lookup":
        """A lookup for n-grams of a text with another numbering of words."""
        own = {word: number for number, word in enumerate(self.words)}
        return Lookup(self, np.array([own.get(word, -1) for word in vocabulary], np.int64))


class Lookup:
    """Finds the counts of one text's n-grams, level by level."""

    def __init__(self, table: DocumentFrequency, translation: np.ndarray) -> None:
        self.table = table
        self.translation = translation
        self.known = np.zeros(1, np.int64)
        self.n = 0

    def counts(self, level: Level, words: np.ndarray) -> np.ndarray:
        """[kinds]: counts of the n-grams of the next level, 0 for those not in the table."""
        places = level.places[level.is_new]
        last = self.translation[words[places + self.n]]
        before = self.known[level.prefix[places]] if self.n else np.zeros(len(places), np.int64)
        codes, counts = self.table.codes[self.n], self.table.counts[self.n]
        code = last * (len(self.table.codes[self.n - 1]) if self.n else 1) + before
        found = np.minimum(np.searchsorted(codes, code), max(len(codes) - 1, 0))
        hit = (before >= 0) & (last >= 0) & (codes[found] == code) if len(codes) else np.zeros(len(places), bool)
        self.known = np.where(hit, found, -1)
        self.n += 1
        return np.where(hit, counts[found], 0) if len(codes) else np.zeros(len(places), np.int64)
