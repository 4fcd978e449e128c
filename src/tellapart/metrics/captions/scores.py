"""All caption metrics in one call, as the COCO caption script computes them."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import chain
from typing import Literal

from tellapart.core.errors import InputError
from tellapart.metrics.captions.bleu import bleu_of
from tellapart.metrics.captions.cider import cider_d_of
from tellapart.metrics.captions.document_frequency import DocumentFrequency
from tellapart.metrics.captions.encoded import Score, check, encode
from tellapart.metrics.captions.meteor.score import meteor, meteor_java
from tellapart.metrics.captions.ptb.tokenise import tokenize
from tellapart.metrics.captions.rouge import rouge_l
from tellapart.metrics.captions.spice import spice

METEORS: dict[str, Callable[[Sequence[str], Sequence[Sequence[str]]], Score]] = {
    "python": meteor,
    "java": meteor_java,
}
BLEUS = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4")
METRICS = (*BLEUS, "METEOR", "ROUGE-L", "CIDEr", "CIDEr-D", "SPICE")
USUAL = (*BLEUS, "METEOR", "ROUGE-L", "CIDEr")

Captions = Sequence[str] | Mapping[Hashable, str]
References = Sequence[Sequence[str]] | Mapping[Hashable, Sequence[str]]


def evaluate(
    candidates: Captions,
    references: References,
    metrics: Sequence[str] = USUAL,
    meteor: Literal["python", "java"] = "python",
    frequencies: DocumentFrequency | None = None,
    tokenized: bool = False,
) -> dict[str, Score]:
    """Score captions against references: lists in the same order, or mappings with the same keys.

    "CIDEr" is what the script prints under that name, which is CIDEr-D; both names are understood.

    >>> scores = evaluate(["A dog runs."], [["A dog is running.", "The dog runs"]], metrics=("BLEU-1", "ROUGE-L"))
    >>> {name: round(score.corpus, 3) for name, score in scores.items()}
    {'BLEU-1': 1.0, 'ROUGE-L': 0.667}
    """
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        raise InputError(f"No metric is called {unknown[0]}; there are {', '.join(METRICS)}.")
    if meteor not in METEORS:
        raise InputError(f"METEOR is computed by {' or '.join(METEORS)}, not by {meteor}.")
    first, second = paired(candidates, references)
    if not tokenized:
        first, second = tokenize(first), tokenize_groups(second)
    encoded = encode(first, second)
    scores: dict[str, Score] = {}
    if any(name in BLEUS for name in metrics):
        scores.update(zip(BLEUS, bleu_of(encoded)))
    if "METEOR" in metrics:
        scores["METEOR"] = METEORS[meteor](first, second)
    if "ROUGE-L" in metrics:
        scores["ROUGE-L"] = rouge_l(first, second)
    if "CIDEr" in metrics or "CIDEr-D" in metrics:
        scores["CIDEr"] = scores["CIDEr-D"] = cider_d_of(encoded, frequencies)
    if "SPICE" in metrics:
        scores["SPICE"] = spice(first, second)
    return {name: scores[name] for name in metrics}


def paired(candidates: Captions, references: References) -> tuple[list[str], list[list[str]]]:
    """Candidates and their references as lists in one order: that of the references."""
    if isinstance(candidates, Mapping) and isinstance(references, Mapping):
        match_keys(candidates, references, "the candidates", "the references")
        candidates, references = [candidates[key] for key in references], list(references.values())
    if isinstance(candidates, Mapping) or isinstance(references, Mapping):
        raise InputError("Give candidates and references both as lists or both as mappings from the same keys.")
    check(candidates, references)
    first, second = list(candidates), [list(group) for group in references]
    for text in chain(first, *second):
        if not isinstance(text, str):
            raise InputError(f"A caption is one string, not {type(text).__name__}: {text!r}.")
    return first, second


def match_keys(
    candidates: Mapping[Hashable, object], references: Mapping[Hashable, object], name: str, reference_name: str
) -> None:
    """Refuse candidates that lack an image of the references or have one too many."""
    missing = [key for key in references if key not in candidates]
    extra = [key for key in candidates if key not in references]
    if missing:
        raise InputError(
            f"{len(missing)} of the {len(references)} images of {reference_name} have no caption in {name}, "
            f"the first of them {missing[0]!r}: caption every image, or score against references of those alone."
        )
    if extra:
        raise InputError(
            f"{len(extra)} captions in {name} are for images that are not in {reference_name}, "
            f"the first of them {extra[0]!r}: remove them, or give the references they belong to."
        )


def tokenize_groups(groups: Sequence[Sequence[str]]) -> list[list[str]]:
    """Tokenise all references as one text, as the script does."""
    tokens = iter(tokenize(caption for group in groups for caption in group))
    return [[next(tokens) for _ in group] for group in groups]
