"""The device a user names, made sure of before any work is done on it."""

from __future__ import annotations

import torch

from tellapart.core.errors import InputError


def usable_device(name: str) -> torch.device:
    """cpu, cuda, cuda:1, …; `auto` takes an accelerator where there is one.

    >>> usable_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.zeros(1, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"The device '{name}' cannot be used ({str(error).splitlines()[0]}); use `device='cpu'`."
        ) from error
