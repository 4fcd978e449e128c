"""Opening a matcher or a captioner: without torch where it was exported, otherwise with torch."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tellapart.core.errors import InputError
from tellapart.inference.light.exported_run import is_exported, open_exported
from tellapart.runs.bundled import Name

if TYPE_CHECKING:
    from tellapart.inference.captioning import PhotoCaptioner
    from tellapart.inference.light.captioning import LightCaptioner
    from tellapart.inference.light.matching import LightMatcher
    from tellapart.inference.matching import PhotoMatcher

Model = str | os.PathLike[str]
ACCELERATORS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""Device files of GPUs; `auto` imports torch only where there is one."""
LIGHT_PRECISIONS = ("auto", "int8", "float32")


def load_matcher(
    model: Model = "bundled",
    device: str = "auto",
    workers: int = 0,
    precision: str = "auto",
    *,
    compile: bool = False,
) -> PhotoMatcher | LightMatcher:
    """Open a matcher: the bundled one, the folder of a trained run, or a model of transformers (`hf:FOLDER`).

    device: cpu, cuda, …; auto uses an accelerator if there is one.
    workers: threads that open images, 0 for one per core.
    precision: float32, int8 (exported models), bfloat16 (others), or auto: the fastest that loses little. Models of
    transformers take float16 too, and auto is float32 for them.
    compile: compile a model of transformers (torch.compile), which takes a minute and pays for many images.

    >>> import tellapart as ta
    >>> matcher = ta.load_matcher()
    >>> a, b, c = matcher.encode_texts(["a cat on a sofa", "a cat on a couch", "a red bus"])
    >>> bool(a @ b > a @ c)
    True
    """
    if not compile and runs_light(model, "matcher", device, precision):
        from tellapart.inference.light.matching import LightMatcher

        return LightMatcher(open_exported(model, "matcher"), workers, precision)
    check_torch()
    from tellapart.inference.matching import load_matcher as by_torch

    return by_torch(model, device, workers, precision, compile=compile)


def load_captioner(
    model: Model = "bundled",
    device: str = "auto",
    workers: int = 0,
    precision: str = "auto",
    *,
    compile: bool = False,
) -> PhotoCaptioner | LightCaptioner:
    """Open a captioner: the bundled one, the folder of a trained run, or a model of transformers (`hf:FOLDER`).

    device: cpu, cuda, …; auto uses an accelerator if there is one.
    workers: threads that open images, 0 for one per core.
    precision: float32, int8 (exported models), bfloat16 (others), or auto: the fastest that loses little. Models of
    transformers take float16 too, and auto is float32 for them.
    compile: compile a model of transformers (torch.compile), which takes a minute and pays for many images.
    """
    if not compile and runs_light(model, "captioner", device, precision):
        from tellapart.inference.light.captioning import LightCaptioner

        return LightCaptioner(open_exported(model, "captioner"), workers, precision)
    check_torch()
    from tellapart.inference.captioning import load_captioner as by_torch

    return by_torch(model, device, workers, precision, compile=compile)


def runs_light(model: Model, name: Name, device: str, precision: str) -> bool:
    """Whether a model is opened without torch: it was exported, and neither a GPU nor bfloat16 is asked for."""
    if precision not in LIGHT_PRECISIONS or not is_exported(model, name):
        return False
    return device == "cpu" or (device == "auto" and not (has_torch() and has_accelerator()))


def has_accelerator() -> bool:
    """Whether this machine seems to have a GPU."""
    return any(Path(file).exists() for file in ACCELERATORS)


def has_torch() -> bool:
    """Whether torch is installed."""
    return importlib.util.find_spec("torch") is not None


def check_torch() -> None:
    """Raise an InputError that says how to install torch, where it is missing."""
    if not has_torch():
        raise InputError(
            "This model needs torch, which is not installed; run `pip install torch`, or use the bundled models on the "
            "CPU."
        )
