"""The caption metrics as a module of Hugging Face's `evaluate`: `evaluate.load(evaluate_module())`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from tellapart.metrics.captions.score import score

DESCRIPTION = "BLEU, METEOR, ROUGE-L, CIDEr and others, equal to the COCO caption script, without Java."
INPUTS = "predictions: one caption per image; references: one or several captions of each image; metrics: their names."


class TellapartCaptions(evaluate.Metric):  # type: ignore[misc]
    """The corpus value of each caption metric."""

    def _info(self) -> Any:
        one = datasets.Value("string")
        several = datasets.Sequence(datasets.Value("string"))
        features = [
            datasets.Features({"predictions": one, "references": several}),
            datasets.Features({"predictions": one, "references": one}),
        ]
        return evaluate.MetricInfo(description=DESCRIPTION, citation="", inputs_description=INPUTS, features=features)

    def _compute(
        self, predictions: Sequence[str], references: Sequence[Any], metrics: Sequence[str] | None = None
    ) -> dict[str, float]:
        groups = [[str(one)] if isinstance(one, str) else [str(text) for text in one] for one in references]
        return score(groups, [str(one) for one in predictions], metrics)
