"""Evaluations: `function(model, context, split) -> {name: figure}`. One line an entry."""

from collections.abc import Callable

from tellapart.evaluation.captions import evaluate_captions, validate_captions
from tellapart.evaluation.grounding import class_table, evaluate_grounding, evaluate_grounding_fully
from tellapart.evaluation.retrieval import evaluate_retrieval, evaluate_retrieval_fully
from tellapart.evaluation.self_retrieval import self_retrieval

EVALUATIONS: dict[str, Callable[..., dict[str, float]]] = {
    "captions": validate_captions,
    "captions-full": evaluate_captions,
    "grounding": evaluate_grounding,
    "grounding-full": evaluate_grounding_fully,
    "retrieval": evaluate_retrieval,
    "retrieval-full": evaluate_retrieval_fully,
    "self-retrieval": self_retrieval,
}

TABLES: dict[str, Callable[..., list[dict[str, float | str]]]] = {"grounding": class_table}
"""Evaluations that also have a table of many rows, written beside their figures."""
