"""Metrics as text: rounded, in one unit, with their intervals. All shares and scores are shown in percent."""

from __future__ import annotations

import re
from collections.abc import Mapping

FRACTIONS = re.compile(
    r"bleu\d|meteor|rouge(_l)?|(token_)?cider|cider_between|spice|chair_[is]|(i2t|t2i)_ndcg\w*|\w*(i2t|t2i)_(r_precision|map_at_r)"
)
"""Metrics that are computed and stored as fractions, as their papers define them; all others are in percent."""
NOT_SHARES = {
    r"loss\w*": "nats",
    r"\w*median\w*": "rank",
    r"\w*(words_\d+|vocabulary|count\w*|images|captions|pairs)": "",
    r"\w*length": "words",
    r"judge_among": "images",
    r"\w*seconds": "s",
}
"""Metrics that are no shares, and their units."""


def readable(metrics: Mapping[str, float]) -> list[tuple[str, str, str]]:
    """Name, text and unit of each metric; NAME_low and NAME_high become the interval of NAME.

    >>> readable({"rsum": 346.0, "rsum_low": 315.33, "rsum_high": 376.0, "cider": 0.1685, "loss": 3.0712})
    [('rsum', '346.00 [315.33, 376.00]', '%'), ('cider', '16.85', '%'), ('loss', '3.07', 'nats')]
    """
    rows = []
    for name, value in metrics.items():
        if name.removesuffix("_low") in metrics and name.endswith("_low"):
            continue
        if name.removesuffix("_high") in metrics and name.endswith("_high"):
            continue
        text = _rounded(in_percent(name, value))
        if f"{name}_low" in metrics and f"{name}_high" in metrics:
            low, high = (in_percent(name, metrics[f"{name}_{end}"]) for end in ("low", "high"))
            text += f" [{_rounded(low)}, {_rounded(high)}]"
        rows.append((name, text, unit(name)))
    return rows


def in_percent(name: str, value: float) -> float:
    """A value in the unit that people see: fractions times 100, everything else as it is.

    >>> in_percent("bleu4", 0.327), in_percent("i2t_r1", 32.7), in_percent("loss", 0.5)
    (32.7, 32.7, 0.5)
    >>> in_percent("i2t_r_precision", 0.327), in_percent("cxc_t2i_r_precision", 0.327)
    (32.7, 32.7)
    """
    return 100 * value if FRACTIONS.fullmatch(name) else value


def unit(name: str) -> str:
    """The unit of a metric: % unless it is no share."""
    return next((text for pattern, text in NOT_SHARES.items() if re.fullmatch(pattern, name)), "%")


def _rounded(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.4f}"
