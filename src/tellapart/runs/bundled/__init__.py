"""The runs that come with the package, so that it captions and finds photos right after installing it.

Each is a run folder in `runs/bundled/NAME` with weights in 8 or 16 bits, made by `tellapart.runs.slim_run.slim_run`.
`bundled:captioner`, `bundled:matcher` and `bundled:chooser`, a second matcher that chooses among captions, can be used
wherever a run folder can.
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
BUNDLED = "bundled"
"""The package's model of the kind that is asked for."""
PREFIX = "bundled:"
HUB_PREFIX = "hf:"
Name = Literal["captioner", "matcher", "chooser"]
NAMES: tuple[Name, ...] = ("captioner", "matcher", "chooser")
CHOOSER = PREFIX + "chooser"
"""The matcher that chooses among captions of images to compare with."""


def is_bundled(name: Name) -> bool:
    """Whether this installation has the run of that name."""
    return (MODELS / name / "model.safetensors").is_file()


def run_folder(name: Path | str) -> Path:
    """The folder of a run: the path itself, that of `hf:FOLDER` where `tellapart export` wrote a run of ours, or the
    package's own for `bundled:NAME`."""
    exported = Path(str(name).removeprefix(HUB_PREFIX))
    if str(name).startswith(HUB_PREFIX) and (exported / "recipe.json").is_file():
        return exported
    if str(name) == BUNDLED and not exported.exists():
        raise InputError(f"The package has several models; write {' or '.join(PREFIX + n for n in NAMES[:2])}.")
    if not str(name).startswith(PREFIX):
        return Path(name)
    own = str(name).removeprefix(PREFIX)
    if own not in NAMES:
        raise InputError(f"Unknown run '{name}'; the package has {', '.join(PREFIX + n for n in NAMES)}.")
    if not (MODELS / own / "model.safetensors").is_file():
        raise InputError(f"This installation has no {own}; train one and pass its run folder as `{own}`.")
    return MODELS / own


def run_name(model: str | os.PathLike[str], name: Name) -> str:
    """A run as users name it: `bundled` is the run of that name in the package, else a run folder or `hf:…`."""
    return PREFIX + name if str(model) == BUNDLED else str(model)


def lasting_name(folder: Path) -> str:
    """The name of a run that means the same from any folder: `bundled:NAME`, `hf:PATH`, or the absolute path."""
    if folder.parent == MODELS:
        return PREFIX + folder.name
    is_run = (folder / "recipe.json").is_file() or not (folder / "config.json").is_file()
    return str(folder.resolve()) if is_run else f"hf:{folder.resolve()}"


def bundled_run(name: Name, device: torch.device | str = "cpu") -> Run:
    """The package's captioner, matcher or chooser, with its weights widened to float32."""
    from tellapart.runs.run import open_run

    return open_run(PREFIX + name, device=device)
