"""`python -m tellapart.cli.train_judge --data PACK --out JUDGE`: train a matcher that judges captions of others."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.cli.errors import exit_code
from tellapart.training.end_to_end.judge import JudgeTraining, train_judge


@dataclass(frozen=True)
class JudgeOptions:
    """Train a matcher apart from the bundled models, to judge whether captions tell images apart."""

    data: Path
    """The pack; its training split is used."""
    out: Path
    """Folder for backbone.safetensors and matcher/."""
    device: str = "cpu"
    """cpu, cuda, cuda:1, …"""
    settings: Annotated[JudgeTraining, tyro.conf.arg(name="")] = field(default_factory=JudgeTraining)


def main() -> int:
    """Train as the command line says."""
    options = tyro.cli(JudgeOptions)
    return exit_code(lambda: train_judge(options.data, options.out, options.settings, options.device, print))


if __name__ == "__main__":
    raise SystemExit(main())
