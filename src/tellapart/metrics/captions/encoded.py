"""Captions as integers, the input of every n-gram metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from tellapart.core.errors import InputError

END = "\0"  # separates captions while they are split at once; the tokeniser removes this character


class WordIds(dict[str, int]):
    """Words numbered by first occurrence."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


@dataclass(frozen=True)
class Encoded:
    """Candidates and their references in one sequence: candidate 0, its references, candidate 1, and so on."""

    words: np.ndarray
    """[W] word numbers of all captions."""
    lengths: np.ndarray
    """[S] words in each caption."""
    image: np.ndarray
    """[S] image of each caption."""
    is_reference: np.ndarray
    """[S] False for the candidate, which is the first caption of its image."""
    vocabulary: WordIds

    @cached_property
    def starts(self) -> np.ndarray:
        """[S] index of each caption's first word."""
        result: np.ndarray = np.cumsum(self.lengths) - self.lengths
        return result

    @cached_property
    def narrow(self) -> np.ndarray:
        """[W+1] the words as small integers, for speed; with one more, so that an index past the end is valid."""
        return np.append(self.words, 0).astype(np.int16 if len(self.vocabulary) < 1 << 15 else np.int32)


def check(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Raise an error for input that the metrics are not defined for."""
    if isinstance(candidates, str) or any(isinstance(group, str) for group in references):
        raise InputError(
            "candidates must be a list of captions and references a list of lists of captions; "
            "a single string was given instead of a list."
        )
    if len(candidates) != len(references):
        raise InputError(
            f"{len(candidates)} candidates but {len(references)} groups of references: "
            "give one group of references for each candidate, in the same order."
        )
    if len(candidates) == 0:
        raise InputError("candidates is empty: there is nothing to score.")
    for index, group in enumerate(references):
        if len(group) == 0:
            raise InputError(f"Candidate {index} has no reference: every candidate needs at least one.")


def encode(candidates: Sequence[str], references: Sequence[Sequence[str]], separator: str | None = None) -> Encoded:
    """Tokenised captions as numbers; words are split at the separator (None: at white space)."""
    check(candidates, references)
    captions = list(chain.from_iterable(chain((one,), group) for one, group in zip(candidates, references)))
    words, lengths, vocabulary = number_words(captions, separator)
    group_sizes = np.fromiter(map(len, references), np.int64, len(references)) + 1
    is_reference = np.ones(len(captions), bool)
    is_reference[np.cumsum(group_sizes) - group_sizes] = False
    return Encoded(words, lengths, np.repeat(np.arange(len(references)), group_sizes), is_reference, vocabulary)


def number_words(captions: Sequence[str], separator: str | None = None) -> tuple[np.ndarray, np.ndarray, WordIds]:
    """The words of all captions as numbers [W], each caption's length [S], and the numbering.

    All captions are split at once at single spaces, which is fastest. If a word is then empty or contains white space,
    they are split one by one.
    """
    vocabulary = WordIds({END: 0})
    split = f" {END} ".join(captions).split(" ") if captions else []
    numbers = np.fromiter(map(vocabulary.__getitem__, split), np.int64, len(split))
    is_word = numbers != 0
    ends = np.flatnonzero(~is_word)
    clean = separator == " " or all(len(word.split()) == 1 for word in vocabulary)
    if clean and len(ends) == len(captions) - 1:
        return numbers[is_word], np.diff(ends, prepend=-1, append=len(numbers)) - 1, vocabulary
    vocabulary = WordIds({END: 0})
    each = [caption.split(separator) for caption in captions]
    lengths = np.fromiter(map(len, each), np.int64, len(each))
    words = np.fromiter(map(vocabulary.__getitem__, chain.from_iterable(each)), np.int64, int(lengths.sum()))
    return words, lengths, vocabulary


def columns(encoded: Encoded, chosen: np.ndarray, filler: int) -> np.ndarray:
    """[T, n]: the chosen captions as columns, so that one step of a loop over T handles all of them."""
    lengths = encoded.lengths[chosen]
    steps = np.arange(max(int(lengths.max(initial=0)), 1))[:, None]  # [T,1]
    positions = encoded.starts[chosen] + steps  # [T,n]
    found: np.ndarray = encoded.narrow.take(positions, mode="clip")
    found[steps >= lengths] = filler
    return found


def batches(encoded: Encoded, cells: int = 1 << 19) -> list[tuple[np.ndarray, np.ndarray]]:
    """Groups of images with similar caption lengths: (candidates, references) with bounded T x T x n."""
    candidates = np.flatnonzero(~encoded.is_reference)
    longest = np.maximum.reduceat(encoded.lengths, candidates)
    sizes = np.diff(np.append(candidates, len(encoded.lengths)))
    order = np.argsort(longest, kind="stable")
    cost = np.maximum(longest[order], 1) ** 2 * sizes[order]
    group = np.cumsum(cost) // cells
    found = []
    for images in np.split(order, np.flatnonzero(np.diff(group)) + 1):
        chosen = np.zeros(len(candidates), bool)
        chosen[images] = True
        captions = np.flatnonzero(chosen[encoded.image])
        found.append((captions[~encoded.is_reference[captions]], captions[encoded.is_reference[captions]]))
    return found
