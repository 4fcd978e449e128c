"""Checking that a device can be used before any work starts."""

from __future__ import annotations

import torch

from tellapart.core.errors import InputError


def usable_device(name: str) -> torch.device:
    """The device of a name (cpu, cuda, cuda:1, …); `auto` uses a GPU if there is one.

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
