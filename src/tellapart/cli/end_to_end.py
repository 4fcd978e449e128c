"""`python -m tellapart.cli.end_to_end --data PACK --out RUNS`: train backbone, matcher and captioner together."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.cli.errors import exit_code
from tellapart.training.end_to_end.train import EndToEnd, train_end_to_end


@dataclass(frozen=True)
class EndToEndOptions:
    """Train a backbone, a matcher and a captioner together on the images and captions of a pack."""

    data: Path
    """The pack; its training split is used."""
    out: Path
    """Folder for backbone.safetensors, matcher/ and captioner/."""
    device: str = "cpu"
    """cpu, cuda, cuda:1, …"""
    settings: Annotated[EndToEnd, tyro.conf.arg(name="")] = field(default_factory=EndToEnd)


def main() -> int:
    """Train as the command line says."""
    options = tyro.cli(EndToEndOptions)
    return exit_code(lambda: train_end_to_end(options.data, options.out, options.settings, options.device, print))


if __name__ == "__main__":
    raise SystemExit(main())
