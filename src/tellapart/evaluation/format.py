"""Metrics as text: rounded, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping


def readable(metrics: Mapping[str, float]) -> list[tuple[str, str]]:
    """Name and text of each metric; NAME_low and NAME_high become the interval of NAME.

    >>> readable({"rsum": 346.0, "rsum_low": 315.33, "rsum_high": 376.0, "cider": 0.1685})
    [('rsum', '346.00 [315.33, 376.00]'), ('cider', '0.1685')]
    """
    rows = []
    for name, value in metrics.items():
        if name.removesuffix("_low") in metrics and name.endswith("_low"):
            continue
        if name.removesuffix("_high") in metrics and name.endswith("_high"):
            continue
        text = _rounded(value)
        if f"{name}_low" in metrics and f"{name}_high" in metrics:
            text += f" [{_rounded(metrics[f'{name}_low'])}, {_rounded(metrics[f'{name}_high'])}]"
        rows.append((name, text))
    return rows


def _rounded(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.4f}"
