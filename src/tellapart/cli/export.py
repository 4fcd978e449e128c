"""`tellapart export RUN --format hf --out FOLDER`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from tellapart.runs.export import export_hub


@dataclass(frozen=True)
class ExportOptions:
    """Write a run's model in a format that other programs open."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder, bundled:matcher or bundled:captioner."""
    out: Path
    """The folder to write."""
    format: Literal["hf"] = "hf"
    """hf: the hub's format, which transformers and `hf:FOLDER` open, with a model card."""
    overwrite: bool = False
    """Replace the folder if it exists."""


def export(options: ExportOptions) -> Path:
    """Write the folder and print where it is."""
    written = export_hub(options.run, options.out, options.overwrite)
    print(f"{written}: {', '.join(sorted(path.name for path in written.iterdir()))}")
    return written
