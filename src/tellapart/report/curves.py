"""The learning curves of a run: its log as a plot."""

from __future__ import annotations

import io
from pathlib import Path

from tellapart.training.log import read_log


def learning_curves(log: Path, metric: str) -> bytes:
    """Training loss and one validation metric over steps, as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = read_log(log)
    canvas, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3), layout="constrained")
    for stage in dict.fromkeys(row["stage"] for row in rows):
        own = [row for row in rows if row["stage"] == stage]
        steps = [(row["total"], row["loss"]) for row in own if "loss" in row and "mean_loss" not in row]
        validated = [(row["total"], row[metric]) for row in own if "mean_loss" in row and metric in row]
        left.plot(*zip(*steps), label=stage) if steps else None
        right.plot(*zip(*validated), marker="o", label=stage) if validated else None
    left.set(xlabel="step", title="training loss")
    right.set(xlabel="step", title=f"validation {metric}")
    left.legend(frameon=False)
    file = io.BytesIO()
    canvas.savefig(file, format="png", dpi=110)
    pyplot.close(canvas)
    return file.getvalue()
