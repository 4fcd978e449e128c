"""Evaluations: `function(model, context, split) -> {metric: value}`. A new evaluation is one entry here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from tellapart.core.errors import InputError
from tellapart.evaluation.captions import check_captions, evaluate_captions, validate_captions
from tellapart.evaluation.distinctive import JudgeCaptions
from tellapart.evaluation.grounding import (
    check_grounding,
    evaluate_grounding,
    evaluate_grounding_fully,
    ground_with_classes,
)
from tellapart.evaluation.retrieval import (
    check_retrieval,
    evaluate_retrieval,
    evaluate_retrieval_fully,
    evaluate_with_cxc,
    evaluate_with_eccv,
)
from tellapart.evaluation.self_retrieval import self_retrieval
from tellapart.models.captioners.teacher_forcing import as_captioner
from tellapart.objectives.context import Context

Rows = list[dict[str, float | str]]

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
    "captions": check_captions,
    "captions-full": check_captions,
    "grounding": check_grounding,
    "grounding-full": check_grounding,
    "retrieval": check_retrieval,
    "retrieval-full": check_retrieval,
    "self-retrieval": lambda model, context, split: as_captioner(model),
}
"""By evaluation: `function(model, context, split)` that raises if the model or the pack does not suit it."""

TABLES: dict[str, Callable[..., tuple[dict[str, float], Rows]]] = {"grounding": ground_with_classes}
"""Evaluations that also return a table of many rows."""


@dataclass(frozen=True)
class Evaluation:
    """Metrics of a model on a split."""

    values: dict[str, float]
    rows: Rows
    """A table of details, such as one row per object class; empty for most evaluations."""


@torch.no_grad()
def evaluate(
    model: nn.Module,
    context: Context,
    split: str,
    name: str,
    cxc: Sequence[Path] = (),
    judge: JudgeCaptions | None = None,
    *,
    eccv: Path | None = None,
) -> Evaluation:
    """The metrics of evaluation `name` in its full form.

    cxc: files with ratings of Crisscrossed Captions; they replace `name` by retrieval with their positives.
    judge: says how many images the captions identify among look-alikes; for evaluations of captions.
    eccv: the folder of ECCV Caption's files; its positives replace `name` as those of CxC do.
    """
    if judge is not None:
        if full_evaluation(name) is not evaluate_captions:
            raise InputError(f"A `judge` reads captions, and this evaluation is '{name}'; evaluate a captioner.")
        return Evaluation(evaluate_captions(model, context, split, judge), [])
    if cxc:
        return Evaluation(evaluate_with_cxc(model, context, split, cxc), [])
    if eccv is not None:
        return Evaluation(evaluate_with_eccv(model, context, split, eccv), [])
    if name in TABLES:
        return Evaluation(*TABLES[name](model, context, split))
    return Evaluation(full_evaluation(name)(model, context, split), [])


def full_evaluation(name: str) -> Callable[..., dict[str, float]]:
    """The full form of an evaluation, called NAME-full, or the evaluation itself where it has none.

    `loss` has no metrics: a run that is validated by its loss alone (R2M, which must not see captions) is evaluated by
    its captions.
    """
    name = "captions" if name == "loss" else name
    if name not in EVALUATIONS:
        raise InputError(f"Unknown `evaluation` '{name}'; choose one of {', '.join(EVALUATIONS)}.")
    return EVALUATIONS.get(f"{name}-full", EVALUATIONS[name])
