"""CHAIR (Rohrbach et al. 2018): how often captions name objects that are not in their image.

    CHAIR-i = objects named that are not there / objects named
    CHAIR-s = captions that name an object that is not there / captions

The objects are COCO's 80 with their synonyms and plurals (`text/coco_concepts.py`). An object is in an image if a
reference names it; the paper also counts COCO's annotated boxes, which captions alone do not have. A caption that names
an object twice names it once. Lower is better.
"""

from collections.abc import Sequence

import numpy as np

from tellapart.metrics.captions.encoded import check
from tellapart.metrics.captions.values import CorpusSums, Score
from tellapart.text.concepts import ConceptDictionary


def object_counts(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    """[captions, 2]: untrue objects and all objects that each tokenised caption names.

    >>> object_counts(["a puppy on a couch", "a hot dog"], [["a dog sleeps"], ["two hot dogs"]]).tolist()
    [[1, 2], [0, 1]]
    """
    check(candidates, references)
    dictionary = ConceptDictionary.coco()
    rows = []
    for candidate, group in zip(candidates, references):
        named = set(dictionary.of_sentence(candidate.split()))
        present = {name for reference in group for name in dictionary.of_sentence(reference.split())}
        rows.append((len(named - present), len(named)))
    return np.array(rows, np.int64)


def chair_i(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """The share of named objects that are untrue; a caption without an object has the value 0.

    >>> chair_i(["a puppy on a couch", "a hot dog"], [["a dog sleeps"], ["two hot dogs"]]).corpus.__round__(4)
    0.3333
    """
    counts = object_counts(candidates, references).astype(float)
    sums = CorpusSums(counts, lambda totals: totals[..., 0] / np.maximum(totals[..., 1], 1))
    return Score(float(sums.value(counts.sum(0))), sums.value(counts), sums)


def chair_s(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """The share of captions that name an untrue object.

    >>> chair_s(["a puppy on a couch", "a hot dog"], [["a dog sleeps"], ["two hot dogs"]]).corpus
    0.5
    """
    each = (object_counts(candidates, references)[:, 0] > 0).astype(float)
    return Score(float(each.mean()), each)
