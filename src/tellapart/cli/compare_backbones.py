"""`python -m tellapart.cli.compare_backbones --data PACK --out FOLDER`: tune several backbones alike, and measure."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.cli.errors import exit_code
from tellapart.training.end_to_end.compare import Comparison, as_table, compare_backbones


@dataclass(frozen=True)
class CompareOptions:
    """Tune several backbones alike, each with a matcher and a captioner, and measure them on images apart."""

    data: Path
    """The pack; its training split is used, and one other split to measure on."""
    out: Path
    """Folder for the values of each backbone."""
    device: str = "cpu"
    """cpu, cuda, cuda:1, …"""
    settings: Annotated[Comparison, tyro.conf.arg(name="")] = field(default_factory=Comparison)


def main() -> int:
    """Compare as the command line says, and print a table."""
    options = tyro.cli(CompareOptions)

    def compare() -> None:
        print(as_table(compare_backbones(options.data, options.out, options.settings, options.device, print)))

    return exit_code(compare)


if __name__ == "__main__":
    raise SystemExit(main())
