"""Evaluations: `function(model, context, split) -> {name: figure}`. One line an entry."""

from collections.abc import Callable

from tellapart.evaluation.captions import validate_captions
from tellapart.evaluation.retrieval import evaluate_retrieval, evaluate_retrieval_fully

EVALUATIONS: dict[str, Callable[..., dict[str, float]]] = {
    "captions": validate_captions,
    "retrieval": evaluate_retrieval,
    "retrieval-full": evaluate_retrieval_fully,
}
