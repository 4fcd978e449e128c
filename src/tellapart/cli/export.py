"""`tellapart export RUN --format hf|onnx --out FOLDER`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from tellapart.images.folders import find_some_photos
from tellapart.runs.export import export_hub


@dataclass(frozen=True)
class ExportOptions:
    """Write a run's model in a format that other programs open."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder, bundled:matcher or bundled:captioner."""
    out: Path
    """The folder to write."""
    format: Literal["hf", "onnx"] = "hf"
    """hf: the hub's format, which transformers and `hf:FOLDER` open, with a model card. onnx: graphs for
    onnxruntime."""
    images: Path | None = None
    """For onnx: a folder of training images; the ranges of int8 are those of their activations. Models of transformers
    need none."""
    count: int = 128
    """How many of these images to use."""
    overwrite: bool = False
    """Replace the folder if it exists."""


def export(options: ExportOptions) -> Path:
    """Write the folder and print where it is."""
    if options.format == "onnx":
        from tellapart.exported.export_folder import export_onnx

        images = [] if options.images is None else find_some_photos([options.images]).photos[: options.count]
        written = export_onnx(options.run, options.out, images, options.overwrite)
    else:
        written = export_hub(options.run, options.out, options.overwrite)
    print(f"{written}: {', '.join(sorted(path.name for path in written.iterdir()))}")
    return written
