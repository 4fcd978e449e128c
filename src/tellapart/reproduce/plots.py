"""Curves of a filled table as one SVG: a panel a curve, a line a row."""

from __future__ import annotations

import io
from typing import Any

from tellapart.reproduce.collect import Filled

COLOURS = ("#1b6ca8", "#d1495b", "#66a182", "#edae49", "#5f4bb6", "#8d5b4c", "#2e4057", "#a0a0a0")


def curves_svg(filled: Filled) -> str:
    """Empty where the table has no curves or no run has logged them."""
    if not filled.curves:
        return ""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    count = len(filled.table.curves)
    across = min(count, 2)
    down = -(-count // across)
    figure = Figure(figsize=(5.2 * across, 3.6 * down), layout="constrained")
    FigureCanvasSVG(figure)
    lines: list[Any] = []
    for place, curve in enumerate(filled.table.curves):
        axes: Any = figure.add_subplot(down, across, place + 1)
        for index, row in enumerate(filled.table.rows):
            points = filled.curves.get((row.name, curve.title))
            if points:
                xs, ys = zip(*points)
                (line,) = axes.plot(xs, ys, label=row.name, color=COLOURS[index % len(COLOURS)], linewidth=1.2)
                if row.name not in {known.get_label() for known in lines}:
                    lines.append(line)
        if curve.logarithmic:
            axes.set_yscale("symlog", linthresh=0.01)
        axes.set_title(curve.title, fontsize=10)
        axes.set_xlabel("training steps")
        axes.grid(alpha=0.3)
    figure.legend(handles=lines, loc="outside lower center", ncols=min(len(lines), 4), fontsize=9)
    written = io.StringIO()
    # Without a date the same curves give the same bytes.
    figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()
