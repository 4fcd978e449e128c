"""Evaluations: `function(model, context, split) -> {name: figure}`. One line an entry."""

from collections.abc import Callable

from tellapart.evaluation.captions import evaluate_captions, to_caption, validate_captions
from tellapart.evaluation.grounding import evaluate_grounding, evaluate_grounding_fully, ground_with_classes, to_ground
from tellapart.evaluation.retrieval import evaluate_retrieval, evaluate_retrieval_fully, to_match
from tellapart.evaluation.self_retrieval import self_retrieval
from tellapart.models.captioners.teacher_forcing import as_captioner

EVALUATIONS: dict[str, Callable[..., dict[str, float]]] = {
    "captions": validate_captions,
    "captions-full": evaluate_captions,
    "grounding": evaluate_grounding,
    "grounding-full": evaluate_grounding_fully,
    "retrieval": evaluate_retrieval,
    "retrieval-full": evaluate_retrieval_fully,
    "self-retrieval": self_retrieval,
}

CHECKS: dict[str, Callable[..., object]] = {
    "captions": to_caption,
    "captions-full": to_caption,
    "grounding": to_ground,
    "grounding-full": to_ground,
    "retrieval": to_match,
    "retrieval-full": to_match,
    "self-retrieval": lambda model, context, split: as_captioner(model),
}
"""Of evaluations that may refuse a model or a pack: `function(model, context, split)` that does so and no more."""

TABLES: dict[str, Callable[..., tuple[dict[str, float], list[dict[str, float | str]]]]] = {
    "grounding": ground_with_classes
}
"""Evaluations that also have a table of many rows, written beside their full figures."""
