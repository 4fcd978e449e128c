"""All caption metrics in one call, for the corpus and per caption, as the COCO caption script computes them."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import Literal

from tellapart.core.errors import InputError
from tellapart.core.suggestions import did_you_mean
from tellapart.metrics.captions.by_image import match_ids
from tellapart.metrics.captions.document_frequency import DocumentFrequency
from tellapart.metrics.captions.encoded import check
from tellapart.metrics.captions.ptb.tokenizer import tokenize, tokenize_groups
from tellapart.metrics.captions.registry import METEORS, METRICS, USUAL
from tellapart.metrics.captions.tokenised import TokenisedCaptions
from tellapart.metrics.captions.values import Score

Captions = Sequence[str] | Mapping[Hashable, str]
References = Sequence[Sequence[str]] | Mapping[Hashable, Sequence[str]]


def evaluate(
    candidates: Captions,
    references: References,
    metrics: Sequence[str] = USUAL,
    meteor: Literal["python", "java"] = "python",
    frequencies: DocumentFrequency | None = None,
    tokenized: bool = False,
    *,
    neighbours: Sequence[Sequence[int]] | None = None,
) -> dict[str, Score]:
    """The `Score` of each metric. Captions are lists in the same order, or mappings with the same keys.

    "CIDEr" is what the script prints under that name, which is CIDEr-D. Both names are accepted.
    neighbours: rows of the references of similar images, one list per caption; CIDErBtw needs them.

    >>> scores = evaluate(["A dog runs."], [["A dog is running.", "The dog runs"]], metrics=("BLEU-1", "ROUGE-L"))
    >>> {name: round(score.corpus, 3) for name, score in scores.items()}
    {'BLEU-1': 1.0, 'ROUGE-L': 0.667}
    """
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        hint = did_you_mean(unknown[0], METRICS) or f" Choose from {', '.join(METRICS)}."
        raise InputError(f"Unknown metric {unknown[0]}.{hint}")
    if meteor not in METEORS:
        raise InputError(f"meteor must be {' or '.join(METEORS)}, not {meteor}.")
    first, second = paired(candidates, references)
    if not tokenized:
        first, second = tokenize(first), tokenize_groups(second)
    captions = TokenisedCaptions(first, second, meteor, frequencies, neighbours)
    return {name: METRICS[name].compute(captions) for name in metrics}


def available_metrics() -> tuple[tuple[str, ...], dict[str, str]]:
    """The usual metrics that can be computed here, and for METEOR and SPICE the reason if they cannot."""
    chosen: list[str] = []
    reasons: dict[str, str] = {}
    for name, metric in METRICS.items():
        if metric.check is not None:
            try:
                metric.check()
            except InputError as error:
                reasons[name] = str(error)
            else:
                chosen.append(name)
        elif metric.usual:
            chosen.append(name)
    return tuple(chosen), reasons


def paired(candidates: Captions, references: References) -> tuple[list[str], list[list[str]]]:
    """Candidates and their references as lists, in the order of the references."""
    if isinstance(candidates, Mapping) and isinstance(references, Mapping):
        match_ids(candidates, references, "candidates")
        candidates, references = [candidates[key] for key in references], list(references.values())
    if isinstance(candidates, Mapping) or isinstance(references, Mapping):
        raise InputError("candidates and references must both be lists, or both mappings with the same keys.")
    check(candidates, references)
    first, second = list(candidates), [list(group) for group in references]
    for text in chain(first, *second):
        if not isinstance(text, str):
            raise InputError(f"A caption is one string, not {type(text).__name__}: {text!r}.")
    return first, second
