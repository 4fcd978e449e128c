"""How a run learned: its log as a plot."""

from __future__ import annotations

import io
from pathlib import Path

from tellapart.training.log import read_log


def learning_curves(log: Path, figure: str) -> bytes:
    """Training loss and one validation figure over steps, as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = read_log(log)
    canvas, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3), layout="constrained")
    for stage in dict.fromkeys(row["stage"] for row in rows):
        own = [row for row in rows if row["stage"] == stage]
        steps = [(row["total"], row["loss"]) for row in own if "loss" in row and "mean_loss" not in row]
        judged = [(row["total"], row[figure]) for row in own if "mean_loss" in row and figure in row]
        left.plot(*zip(*steps), label=stage) if steps else None
        right.plot(*zip(*judged), marker="o", label=stage) if judged else None
    left.set(xlabel="step", title="training loss")
    right.set(xlabel="step", title=f"validation {figure}")
    left.legend(frameon=False)
    held = io.BytesIO()
    canvas.savefig(held, format="png", dpi=110)
    pyplot.close(canvas)
    return held.getvalue()
