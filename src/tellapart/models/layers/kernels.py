"""Whether kernels of ours (Triton) run on a device. They are optional: torch computes the same without them."""

from __future__ import annotations

from importlib.util import find_spec

import torch


def compiles(device: torch.device) -> bool:
    """Whether the device has tensor cores for TF32, and Triton with a C compiler is installed."""
    if device.type != "cuda" or find_spec("triton") is None or torch.cuda.get_device_capability(device)[0] < 8:
        return False
    from tellapart.models.layers.cross_attention_kernel import can_run

    return can_run(device)
