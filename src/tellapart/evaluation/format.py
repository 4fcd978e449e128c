"""Figures as people read them: percentages and shares rounded, an interval beside the figure it belongs to."""

from __future__ import annotations

from collections.abc import Mapping


def readable(figures: Mapping[str, float]) -> list[tuple[str, str]]:
    """Name and text of each figure; NAME_low and NAME_high become the interval of NAME.

    >>> readable({"rsum": 346.0, "rsum_low": 315.33, "rsum_high": 376.0, "cider": 0.1685})
    [('rsum', '346.00 [315.33, 376.00]'), ('cider', '0.1685')]
    """
    rows = []
    for name, value in figures.items():
        if name.removesuffix("_low") in figures and name.endswith("_low"):
            continue
        if name.removesuffix("_high") in figures and name.endswith("_high"):
            continue
        text = _rounded(value)
        if f"{name}_low" in figures and f"{name}_high" in figures:
            text += f" [{_rounded(figures[f'{name}_low'])}, {_rounded(figures[f'{name}_high'])}]"
        rows.append((name, text))
    return rows


def _rounded(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.4f}"
