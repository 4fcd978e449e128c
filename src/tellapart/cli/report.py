"""`tellapart report RUN… --data PACK --out report.html`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.report.run_report import Examples, write_report


@dataclass(frozen=True)
class ReportOptions:
    """Write an HTML report of trained runs: metrics, learning curves, retrieval and captioning examples, and the
    attention of R2M's memories."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN …")]
    """Run folders, or hf:FOLDER."""
    data: Path
    """The pack to take examples from."""
    out: Path = Path("report.html")
    """The file to write."""
    split: str = "test"
    """The split to evaluate and to take examples from."""
    examples: int = 6
    """Images and queries to show per run."""
    seed: int = 0
    """Seed of the random examples."""


def report(options: ReportOptions) -> Path:
    """Write the report and print its path."""
    examples = Examples(options.split, options.examples, options.seed)
    out = write_report(options.runs, options.data, options.out, examples)
    print(f"Report: {out.resolve()}")
    return out
