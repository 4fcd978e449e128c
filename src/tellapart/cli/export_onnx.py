"""`python -m tellapart.cli.export_onnx RUN… --images FOLDER`: ONNX graphs of runs, so that photos need no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.cli.errors import exit_code
from tellapart.core.text_files import read_text
from tellapart.exported.export import export_run
from tellapart.images.folders import find_some_photos
from tellapart.images.reading import read_squashed
from tellapart.runs.run import open_run


@dataclass(frozen=True)
class OnnxOptions:
    """Write ONNX graphs of runs and their backbones, in float32 and int8, beside the weights."""

    runs: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Run folders of a transformer captioner or a dual encoder that read a grid of EfficientNet-Lite or PP-LCNetV2; or
    bundled:captioner, bundled:matcher, bundled:chooser."""
    images: Path
    """A folder of training images; the ranges of int8 are those of their activations. PP-LCNetV2 and GRUs are exported
    in float32 alone."""
    captions: Path | None = None
    """A text file with a training caption per line, for the ranges of a matcher's texts in int8. Without it, texts are
    read in float32."""
    count: int = 128
    """How many of the images to use, and four times as many captions."""


def export_onnx(options: OnnxOptions) -> list[Path]:
    """Export the runs; prints and returns the files."""
    files = find_some_photos([options.images]).photos[: options.count]
    captions = read_text(options.captions).splitlines()[: 4 * options.count] if options.captions else []
    written: list[Path] = []
    for run in options.runs:
        facts = open_run(run).data.get("features") or {"preprocessing": {"size": 224}}
        squares = [read_squashed(file, int(facts["preprocessing"]["size"])) for file in files]
        written += export_run(run, squares, captions=captions)
    for path in written:
        print(f"{path}: {path.stat().st_size:,} bytes")
    return written


def main() -> int:
    """Export as the command line says."""
    options = tyro.cli(OnnxOptions)
    return exit_code(lambda: export_onnx(options))


if __name__ == "__main__":
    raise SystemExit(main())
