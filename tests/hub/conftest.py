"""Tiny models of transformers, each built once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("transformers")
import tiny_hub


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny model by family, built when it is first asked for."""
    root, made = tmp_path_factory.mktemp("hub"), {}

    def folder(name: str) -> Path:
        if name not in made:
            made[name] = tiny_hub.ALL[name](root / name)
        return made[name]

    return folder


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Four photos of different sizes and contents."""
    folder = tmp_path_factory.mktemp("photos")
    random = np.random.default_rng(0)
    paths = []
    for number, (height, width) in enumerate(((50, 70), (64, 40), (48, 48), (90, 60))):
        base = random.integers(0, 255, (4, 4, 3), dtype=np.uint8)
        image = Image.fromarray(base).resize((width, height), Image.Resampling.BICUBIC)
        paths.append(folder / f"{number}.png")
        image.save(paths[-1])
    return paths
