"""`score(references, candidates)`: the usual caption metrics in one call, without torch."""

from collections.abc import Sequence

from tellapart.metrics.captions.by_image import (
    Candidates,
    References,
    candidates_by_image,
    name_of,
    references_by_image,
    tokenized,
)
from tellapart.metrics.captions.evaluate import available_metrics, evaluate
from tellapart.metrics.captions.neighbours import Neighbours, neighbours_of


def score(
    references: References,
    candidates: Candidates,
    metrics: Sequence[str] | None = None,
    *,
    neighbours: Neighbours | None = None,
    allow_empty: bool = False,
) -> dict[str, float]:
    """The corpus value of each metric, as the COCO caption script computes it.

    Args:
        references: one or several captions per image: a list, a mapping from image id, or the path of a file
            (COCO annotations, JSON lines, a Flickr token file, plain text). A list of `Path`s is several files.
        candidates: one caption per image, in the order or under the ids of the references; or the path of a file.
        metrics: names out of `METRICS` (`registry.py`); by default all that can be computed here
            (METEOR needs pycocoevalcap, SPICE also Java).
        neighbours: the images that are similar to each image, for CIDErBtw: a list of rows of the references per
            image, or a file (`.npy` with one vector per image, or `.json` with lists of image ids).
        allow_empty: score captions without a word instead of raising an error.

    >>> values = score([["A dog runs.", "The dog is running"]], ["A dog runs"], metrics=("BLEU-1", "ROUGE-L"))
    >>> {name: round(value, 3) for name, value in values.items()}
    {'BLEU-1': 1.0, 'ROUGE-L': 1.0}
    """
    by_image = references_by_image(references, allow_empty)
    captions = candidates_by_image(candidates, by_image, allow_empty)
    tokens = tokenized(by_image, name_of(references, "references"), allow_empty)
    groups = tokenized({key: [text] for key, text in captions.items()}, name_of(candidates, "candidates"), allow_empty)
    chosen = available_metrics()[0] if metrics is None else metrics
    similar = None if neighbours is None else neighbours_of(neighbours, list(by_image))
    scores = evaluate([line for (line,) in groups], tokens, chosen, tokenized=True, neighbours=similar)
    return {name: found.corpus for name, found in scores.items()}
