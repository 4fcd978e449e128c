"""The bundled captioner without torch and with it, in float32."""

import pytest

import tellapart as ta
from tellapart.inference import captioning
from tellapart.inference.light.captioning import LightCaptioner


@pytest.fixture(scope="package")
def light() -> LightCaptioner:
    opened = ta.load_captioner(device="cpu", precision="float32")
    assert isinstance(opened, LightCaptioner)
    return opened


@pytest.fixture(scope="package")
def by_torch() -> captioning.PhotoCaptioner:
    return captioning.load_captioner("bundled", "cpu", 1, "float32")
