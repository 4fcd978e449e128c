"""The runs that come with the package, so that photos can be told and found right after installing it.

They lie in `models/NAME` as run folders with float16 weights, as `tellapart.runs.run.slim_run` makes them.
Wherever a run folder is asked for, `bundled:captioner` or `bundled:matcher` can be given.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tellapart.core.errors import InputError

if TYPE_CHECKING:
    import torch

    from tellapart.runs.run import Run

MODELS = Path(__file__).parent
PREFIX = "bundled:"
Name = Literal["captioner", "matcher"]
OPTIONS: dict[Name, str] = {"captioner": "--captioner RUN", "matcher": "--matcher RUN"}


def is_bundled(name: Name) -> bool:
    """Whether this installation brings a run of that name."""
    return (MODELS / name / "model.safetensors").is_file()


def run_folder(name: Path | str) -> Path:
    """The folder of a run: the path itself, or the package's own for `bundled:NAME`."""
    if not str(name).startswith(PREFIX):
        return Path(name)
    wanted = str(name).removeprefix(PREFIX)
    if wanted not in OPTIONS:
        raise InputError(f"No run '{name}' comes with the package; there are {', '.join(PREFIX + n for n in OPTIONS)}.")
    folder = MODELS / wanted
    if not is_bundled(wanted):
        raise InputError(
            f"This installation brings no {wanted} of its own; train one with `tellapart train` and give it with "
            f"{OPTIONS[wanted]}."
        )
    return folder


def run_name(model: str | os.PathLike[str], name: Name) -> str:
    """A run as users name it: `bundled` is the run of that name in the package, anything else a run folder."""
    return PREFIX + name if str(model) == "bundled" else str(model)


def lasting_name(folder: Path) -> str:
    """The name of a run that means the same from any folder: `bundled:NAME`, or the absolute path."""
    return PREFIX + folder.name if folder.parent == MODELS else str(folder.resolve())


def bundled_run(name: Name, device: torch.device | str = "cpu") -> Run:
    """The package's own captioner or matcher, its weights widened to float32."""
    from tellapart.runs.run import open_run

    return open_run(PREFIX + name, device=device)
