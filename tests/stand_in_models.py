"""Stand-ins for the package's models, in a folder of a test."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tellapart.runs import bundled

READERS = (
    "tellapart.inference.captioning",
    "tellapart.inference.judge",
    "tellapart.inference.light.captioning",
    "tellapart.inference.light.matching",
    "tellapart.search.calibration",
    "tellapart.search.lexicon",
)
"""Modules that import the folder's name. One that a test were the first to import would keep the stand-ins."""


def use_models(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open `bundled:…` in this folder until the test ends."""
    for name in READERS:
        importlib.import_module(name)
    monkeypatch.setattr(bundled, "MODELS", folder)
