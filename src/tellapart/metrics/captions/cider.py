"""CIDEr and CIDEr-D (Vedantam et al. 2015).

What the COCO caption script prints as "CIDEr" is CIDEr-D: the tf-idf cosine with counts clipped to the reference's and
a Gaussian penalty on the difference in length, times ten. `cider_d` is that; `plain_cider` has neither.
"""

from collections.abc import Sequence

import numpy as np

from tellapart.metrics.captions.document_frequency import DocumentFrequency
from tellapart.metrics.captions.encoded import Encoded, encode
from tellapart.metrics.captions.ngrams import Level, levels
from tellapart.metrics.captions.values import Score

ORDER = 4
SIGMA = 6.0


def cider_d(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    frequencies: DocumentFrequency | None = None,
) -> Score:
    """CIDEr-D of tokenised captions, the script's "CIDEr"; the corpus value is the mean.

    Document frequencies are those of the references unless a table is given.

    >>> score = cider_d(["a dog runs", "a cat"], [["a dog runs", "the dog"], ["a cat sits"]])
    >>> score.each.round(4).tolist()
    [4.3664, 3.4868]
    """
    return cider_d_of(encode(candidates, references), frequencies)


def cider_d_of(encoded: Encoded, frequencies: DocumentFrequency | None = None) -> Score:
    """CIDEr-D of encoded captions."""
    return _score(encoded, frequencies, clipped=True)


def plain_cider(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    frequencies: DocumentFrequency | None = None,
) -> Score:
    """The paper's first definition (its equations 2 and 3) times ten: no clipping, no length penalty.

    >>> score = plain_cider(["a dog runs", "a cat"], [["a dog runs", "the dog"], ["a cat sits"]])
    >>> score.each.round(4).tolist()
    [4.375, 3.5355]
    """
    return _score(encode(candidates, references), frequencies, clipped=False)


def _score(encoded: Encoded, frequencies: DocumentFrequency | None, clipped: bool) -> Score:
    images = int(encoded.image[-1]) + 1
    captions = len(encoded.lengths)
    log_images = np.log(float(images if frequencies is None else frequencies.images))
    lookup = None if frequencies is None else frequencies.lookup(encoded.vocabulary)
    caption_of = np.repeat(np.arange(captions, dtype=np.int32), encoded.lengths)
    candidate_of = np.flatnonzero(~encoded.is_reference)[encoded.image]  # [S] the candidate of a caption's image
    similarity = np.zeros(captions)  # [S] summed over n, meaningful for references
    for level in levels(encoded.words, encoded.lengths, ORDER):
        entries = _Entries(level, caption_of, encoded)
        counts = entries.image_counts(encoded) if lookup is None else lookup.counts(level, encoded.words)
        inverse = log_images - np.log(np.maximum(counts, 1.0))  # [kinds]
        weight = entries.count * inverse[entries.kind]
        norm = np.sqrt(np.bincount(entries.caption, weight * weight, captions))
        candidate_weight = np.where(entries.starts_with_candidate, weight[entries.group_start], 0)[entries.group]
        shared = np.minimum(candidate_weight, weight) if clipped else candidate_weight
        product = np.bincount(entries.caption, shared * weight, captions)
        norms = norm * norm[candidate_of]
        similarity += product / np.where(norms == 0, 1, norms)
    if clipped:
        pairs = np.maximum(encoded.lengths - 1, 0)  # the script uses the number of word pairs as the length
        similarity *= np.exp(-((pairs - pairs[candidate_of]) ** 2) / (2 * SIGMA**2))
    total = np.bincount(encoded.image, similarity * encoded.is_reference, images)
    each = total / ORDER / np.bincount(encoded.image, encoded.is_reference, images) * 10.0
    return Score(float(np.mean(each)), each)


class _Entries:
    """The distinct (n-gram, caption) pairs of one level. Those of one n-gram and one image form a group, in which the
    candidate (if it has the n-gram) comes first."""

    def __init__(self, level: Level, caption_of: np.ndarray, encoded: Encoded) -> None:
        captions = caption_of[level.places]
        first = level.is_new.copy()
        first[1:] |= captions[1:] != captions[:-1]
        starts = np.flatnonzero(first)
        self.count = np.diff(np.append(starts, len(captions)))
        self.caption = captions[starts]
        self.kind = level.kinds[starts]
        self.kinds = int(level.kinds[-1]) + 1 if len(level.kinds) else 0
        image = encoded.image[self.caption]
        new_group = level.is_new[starts]
        new_group[1:] |= image[1:] != image[:-1]
        self.group_start = np.flatnonzero(new_group)
        self.group = np.cumsum(new_group) - 1
        self.starts_with_candidate = ~encoded.is_reference[self.caption[self.group_start]]

    def image_counts(self, encoded: Encoded) -> np.ndarray:
        """[kinds]: the number of images with each n-gram in a reference."""
        last = np.append(self.group_start[1:], len(self.caption))[: len(self.group_start)] - 1
        has_reference = encoded.is_reference[self.caption[last]]
        return np.bincount(self.kind[self.group_start], has_reference, self.kinds)
