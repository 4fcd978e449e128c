"""A reliability diagram: how often captions of each confidence are true."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from tellapart.metrics.reliability import Bin

COLOUR, THRESHOLD, DIAGONAL = "#1b6ca8", "#d1495b", "#a0a0a0"


def reliability_svg(systems: Mapping[str, tuple[Sequence[Bin], float]]) -> str:
    """One panel per name: bars of the share that is true, the diagonal, and the threshold."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.4 * len(systems), 4.0), layout="constrained")
    FigureCanvasSVG(figure)
    for place, (name, (bins, threshold)) in enumerate(systems.items(), start=1):
        axes: Any = figure.add_subplot(1, len(systems), place)
        _draw(axes, name, bins, threshold)
    written = io.StringIO()
    # Without a date and without random ids, the same values give the same bytes.
    with rc_context({"svg.hashsalt": "tellapart"}):
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def _draw(axes: Any, name: str, bins: Sequence[Bin], threshold: float) -> None:
    shown = [one for one in bins if one.count]
    axes.plot([0, 1], [0, 1], color=DIAGONAL, linestyle="--", linewidth=1)
    axes.bar(
        [one.low for one in shown],
        [one.true for one in shown],
        [one.high - one.low for one in shown],
        align="edge",
        color=COLOUR,
        alpha=0.35,
        edgecolor="white",
    )
    axes.plot([one.confidence for one in shown], [one.true for one in shown], "o", color=COLOUR, markersize=4)
    for one in shown:
        axes.annotate(str(one.count), ((one.low + one.high) / 2, 0.01), ha="center", fontsize=7, color="#333333")
    axes.axvline(threshold, color=THRESHOLD, linewidth=1)
    axes.annotate("sure", (threshold + 0.01, 1.0), color=THRESHOLD, fontsize=8, va="top")
    axes.set(title=name, xlabel="confidence", ylabel="share that is true", xlim=(0, 1), ylim=(0, 1.02))
