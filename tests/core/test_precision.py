"""bfloat16 where the CPU has instructions for it: asked for, rejected, and close to float32."""

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.core import precision
from tellapart.core.errors import InputError


def test_auto_asks_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    for native in (True, False):
        monkeypatch.setattr(precision, "_native_bfloat16", lambda native=native: native)
        assert precision.uses_bfloat16("auto", cpu) is native
        assert not precision.uses_bfloat16("auto", gpu)
        assert precision.uses_bfloat16("bfloat16", cpu) and not precision.uses_bfloat16("float32", cpu)


def test_unknown_precision_is_rejected() -> None:
    with pytest.raises(InputError, match="float32"):
        precision.uses_bfloat16("float8", torch.device("cpu"))


def test_vectors_of_images_hardly_change() -> None:
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 255, (40, 40, 3), np.uint8).repeat(4, 0).repeat(4, 1) for _ in range(3)]
    exact = ta.load_matcher(device="cpu", precision="float32").encode_images(images)
    rounded = ta.load_matcher(device="cpu", precision="bfloat16").encode_images(images)
    assert not np.array_equal(exact, rounded)
    assert (exact * rounded).sum(1).min() > 0.98
