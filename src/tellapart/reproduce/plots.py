"""A filled table as one SVG: metrics over training, or over the values of a setting."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from typing import Any

from tellapart.reproduce.fill import Filled
from tellapart.reproduce.table import Column, Curve, Sweep

COLOURS = ("#1b6ca8", "#d1495b", "#66a182", "#edae49", "#5f4bb6", "#8d5b4c", "#2e4057", "#a0a0a0")


def draw_svg(filled: Filled) -> str:
    """The table's curves, or its sweep; empty where it has neither, or no results for it."""
    if filled.curves:
        return _panels(filled.table.curves, lambda axes, curve: _curve(axes, curve, filled))
    sweep = filled.table.sweep
    if sweep is None:
        return ""
    columns = [column for column in filled.table.columns if any(_points(filled, sweep, column).values())]
    return _panels(columns, lambda axes, column: _swept(axes, column, sweep, filled)) if columns else ""


def _panels(shown: Sequence[Any], draw: Callable[[Any, Any], None]) -> str:
    """One panel per item, and one legend."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    across = min(len(shown), 2)
    down = -(-len(shown) // across)
    figure = Figure(figsize=(5.2 * across, 3.6 * down), layout="constrained")
    FigureCanvasSVG(figure)
    lines: dict[str, Any] = {}
    for place, one in enumerate(shown):
        axes: Any = figure.add_subplot(down, across, place + 1)
        draw(axes, one)
        axes.grid(alpha=0.3)
        for line, name in zip(*axes.get_legend_handles_labels()):
            lines.setdefault(name, line)
    figure.legend(
        handles=list(lines.values()),
        labels=list(lines),
        loc="outside lower center",
        ncols=min(len(lines), 4),
        fontsize=9,
    )
    written = io.StringIO()
    # Without a date and without random ids, the same curves give the same bytes.
    with rc_context({"svg.hashsalt": "tellapart"}):
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def _curve(axes: Any, curve: Curve, filled: Filled) -> None:
    """One line per row."""
    for index, row in enumerate(filled.table.rows):
        points = filled.curves.get((row.name, curve.title))
        if points:
            axes.plot(*zip(*points), label=row.name, color=COLOURS[index % len(COLOURS)], linewidth=1.2)
    if curve.logarithmic:
        axes.set_yscale("symlog", linthresh=0.01)
    axes.set_title(curve.title, fontsize=10)
    axes.set_xlabel("training steps")


def _swept(axes: Any, column: Column, sweep: Sweep, filled: Filled) -> None:
    """One line per list of rows, with their intervals."""
    for index, (name, points) in enumerate(_points(filled, sweep, column).items()):
        if points:
            values, middle, below, above = zip(*points)
            style = {"color": COLOURS[index], "linewidth": 1.2, "marker": "o", "markersize": 3, "capsize": 2}
            axes.errorbar(values, middle, (below, above), label=name, **style)
    least = min(value for line in sweep.lines.values() for value, _ in line if value > 0)
    axes.set_xscale("symlog", linthresh=least)  # the setting may be 0
    axes.set_title(column.name, fontsize=10)
    axes.set_xlabel(sweep.setting)


def _points(filled: Filled, sweep: Sweep, column: Column) -> dict[str, list[tuple[float, float, float, float]]]:
    """By line: the setting's value, our value, and the distances to the ends of its interval (0 without one)."""
    found: dict[str, list[tuple[float, float, float, float]]] = {}
    for name, line in sweep.lines.items():
        found[name] = []
        for value, row in line:
            cell = filled.cells.get((row, column.name))
            if cell is None:
                continue
            own = cell.estimate()
            ends = (
                (0.0, 0.0) if math.isnan(own.low) else (max(own.value - own.low, 0.0), max(own.high - own.value, 0.0))
            )
            found[name].append((value, own.value, *ends))
    return found
