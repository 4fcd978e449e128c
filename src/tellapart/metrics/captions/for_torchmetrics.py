"""Caption metrics as a `torchmetrics.Metric`: `update` in every step and on every rank, `compute` at the end.

Captions are kept as bytes in one state, so that torchmetrics can gather them from all processes.
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Sequence
from typing import Any

from tellapart.core.errors import InputError
from tellapart.metrics.captions.evaluate import available_metrics, evaluate


def caption_metric(metrics: Sequence[str] | None = None, **options: Any) -> Any:
    """A metric of torchmetrics whose `compute()` is the corpus value of each metric by name.

    `update(preds, target)` takes one caption per image and one or several references of each. `options` are those of
    `torchmetrics.Metric`, such as `dist_sync_on_step`.
    """
    return _metric_class()(metrics, **options)


@functools.cache
def _metric_class() -> Any:
    """The class, made when it is first asked for: the package works without torchmetrics."""
    try:
        base: Any = importlib.import_module("torchmetrics").Metric
    except ImportError as error:
        raise InputError("This metric needs torchmetrics; run `pip install torchmetrics`.") from error
    import torch

    class CaptionMetrics(base):  # type: ignore[misc]
        """The caption metrics of tellapart over everything that `update` was given."""

        is_differentiable = False
        full_state_update = False

        def __init__(self, metrics: Sequence[str] | None = None, **options: Any) -> None:
            super().__init__(**options)
            self.names = available_metrics()[0] if metrics is None else tuple(metrics)
            self.add_state("captions", default=[], dist_reduce_fx="cat")

        def update(self, preds: str | Sequence[str], target: Sequence[Any]) -> None:
            """Add captions and their references."""
            found = [preds] if isinstance(preds, str) else list(preds)
            if len(found) != len(target):
                raise InputError(f"There are {len(found)} captions and {len(target)} groups of references.")
            groups = [[group] if isinstance(group, str) else list(group) for group in target]
            text = "".join(json.dumps(row) + "\n" for row in zip(found, groups))
            self.captions.append(torch.tensor(list(text.encode()), dtype=torch.uint8, device=self.device))

        def compute(self) -> dict[str, Any]:
            """The value of each metric, as a tensor."""
            states = self.captions if isinstance(self.captions, list) else [self.captions]
            text = b"".join(bytes(state.tolist()) for state in states).decode()
            rows = [json.loads(line) for line in text.splitlines()]
            if not rows:
                raise InputError("There are no captions yet; call `update` first.")
            scores = evaluate([row[0] for row in rows], [row[1] for row in rows], self.names)
            return {name: torch.tensor(score.corpus, device=self.device) for name, score in scores.items()}

    return CaptionMetrics
