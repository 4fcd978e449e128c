"""Seconds per epoch of whole training runs: VSE++ on vectors and Up-Down on a grid, as `tellapart train` runs them.

    python -m benchmarks epochs [--device cuda]

A pack as large as Flickr8k is made up: 6,000 training images with five captions. A run of many epochs less a run of
few is divided by the epochs between them, so that start-up and the one validation at the end do not count. On a GPU
features are resident, with and without replay of recorded steps; on a CPU one epoch of fewer images shows that it runs.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.training import made_up_pack
from tellapart.papers.recipes import find_recipe
from tellapart.runs.overrides import override
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

VALIDATED = 50
"""Images to validate on."""


@dataclass(frozen=True)
class Case:
    """A recipe, its only stage, and the features it reads."""

    recipe: str
    stage: str
    features: str
    evaluation: str
    few: int
    many: int


CASES = (Case("vse++", "base", "vector", "retrieval", 2, 12), Case("up-down", "xe", "grid", "captions", 1, 5))


def main(device: str = "cpu") -> None:
    gpu = device.startswith("cuda")
    with tempfile.TemporaryDirectory() as folder:
        data = made_up_pack(Path(folder) / "pack", images=6000 if gpu else 400, validated=VALIDATED).folder
        print(f"{'recipe':12} {'replay':8} {'s/epoch':>9}")
        for case in CASES:
            for replay in (False, True) if gpu else (False,):
                few, many = (case.few, case.many) if gpu else (1, 2)
                least, most = (_seconds(case, data, epochs, device, replay) for epochs in (few, many))
                print(f"{case.recipe:12} {replay!s:8} {(most - least) / (many - few):9.3f}", flush=True)


def _seconds(case: Case, data: Path, epochs: int, device: str, replay: bool) -> float:
    """Of a whole run, validated once at its end."""
    changes = (f"epochs={epochs}", f"evaluate_every={epochs}", f"evaluation={case.evaluation}", "keep=last")
    recipe = override(find_recipe(case.recipe), tuple(f"{case.stage}.{change}" for change in changes))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        settings = TrainSettings(
            data, out, case.features, device=device, resident=device.startswith("cuda"), replay=replay
        )
        begun = time.perf_counter()
        train_recipe(recipe, settings)
        return time.perf_counter() - begun
