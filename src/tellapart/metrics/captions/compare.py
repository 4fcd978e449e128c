"""Several systems' captions of the same images: values, bootstrap intervals, paired differences, diversity."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal

from tellapart.core.errors import InputError
from tellapart.metrics.captions import bootstrap
from tellapart.metrics.captions.by_image import (
    Candidates,
    References,
    candidates_by_image,
    name_of,
    references_by_image,
    tokenized,
)
from tellapart.metrics.captions.diversity import diversity
from tellapart.metrics.captions.document_frequency import DocumentFrequency
from tellapart.metrics.captions.evaluate import available_metrics, evaluate
from tellapart.metrics.captions.neighbours import LOOK_ALIKES, Neighbours, neighbours_of
from tellapart.metrics.captions.ptb.tokenizer import tokenize
from tellapart.metrics.captions.values import Score

OfText = Callable[[list[str], list[list[str]]], dict[str, Score]]


def compare(
    references: References,
    candidates: Mapping[str, Candidates],
    metrics: Sequence[str] | None = None,
    *,
    meteor: Literal["python", "java"] = "python",
    frequencies: DocumentFrequency | None = None,
    training: Sequence[str] | None = None,
    samples: int = bootstrap.SAMPLES,
    neighbours: Neighbours | None = None,
    look_alikes: int = LOOK_ALIKES,
    allow_empty: bool = False,
    of_text: OfText | None = None,
) -> dict[str, dict[str, Any]]:
    """For each system: `corpus` values, values of its `captions`, and `diversity`.

    With several systems also the 95% `interval` of each value and its paired `difference` from the first system.

    Args:
        candidates: captions of each system by the system's name; see `score` for the forms they may have.
        frequencies: document frequencies for CIDEr; by default those of the references.
        training: training captions, to count novel captions.
        samples: bootstrap samples per interval.
        neighbours: similar images, for CIDErBtw; see `score`. look_alikes: how many of a file's to use.
        of_text: metrics of captions as they are written, such as BERTScore: (candidates, references) -> scores.
    """
    if samples < 1:
        raise InputError(f"samples must be at least 1, not {samples}.")
    by_image = references_by_image(references, allow_empty)
    systems = {name: candidates_by_image(given, by_image, allow_empty) for name, given in candidates.items()}
    chosen = available_metrics()[0] if metrics is None else metrics
    known = None if training is None else tokenize(training)
    similar = None if neighbours is None else neighbours_of(neighbours, list(by_image), look_alikes)
    tokens = tokenized(by_image, name_of(references, "references"), allow_empty)
    result: dict[str, dict[str, Any]] = {}
    scores: dict[str, dict[str, Score]] = {}
    for name, captions in systems.items():
        groups = tokenized({key: [caption] for key, caption in captions.items()}, name, allow_empty)
        lines = [line for (line,) in groups]
        scores[name] = evaluate(lines, tokens, chosen, meteor, frequencies, tokenized=True, neighbours=similar)
        if of_text is not None:
            scores[name] |= of_text(list(captions.values()), list(by_image.values()))
        result[name] = _values(scores[name], list(by_image)) | {"diversity": diversity(lines, known)}
    if len(systems) > 1:
        _add_intervals(result, scores, samples)
    return result


def _values(scores: dict[str, Score], keys: list[Hashable]) -> dict[str, Any]:
    rows = [
        {"image_id": key} | {name: float(score.each[i]) for name, score in scores.items()} for i, key in enumerate(keys)
    ]
    return {"corpus": {name: score.corpus for name, score in scores.items()}, "captions": rows}


def _add_intervals(result: dict[str, dict[str, Any]], scores: dict[str, dict[str, Score]], samples: int) -> None:
    first = next(iter(scores))
    for name, found in scores.items():
        entry = result[name]
        entry["interval"] = {metric: _bounds(bootstrap.interval(score, samples)) for metric, score in found.items()}
        if name != first:
            entry["difference"] = {
                metric: _bounds(bootstrap.paired_difference(scores[first][metric], score, samples))
                for metric, score in found.items()
            }


def _bounds(found: bootstrap.CaptionInterval) -> dict[str, float]:
    return {"value": found.value, "low": found.low, "high": found.high}
