"""Where and how the runs of tables are made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tellapart.reproduce.cache import Cache

Order = Literal["longest", "claims"]
"""Which runs come first: the longest, or those that decide most claims for their time."""


@dataclass(frozen=True)
class ReproduceSettings:
    """Where and how the runs of tables are made."""

    data: Path
    """The pack to train and test on."""
    cache: Path
    """Folder for runs and results."""
    features: tuple[str, ...] = ()
    """Names of the pack's features, one per kind. Default: the only ones of the kind that a row reads."""
    seeds: int | None = None
    """Runs per row. Default: as many as the table says."""
    share: float = 1.0
    """Share of every recipe's epochs to train."""
    device: str = "cpu"
    """One device, or several joined by commas, which the worker processes take in turn."""
    jobs: int = 1
    """Runs at once, each in its own process."""
    seconds_limit: float | None = None
    """Start no run that is not expected to end within this many seconds, and stop those still running then."""
    order: Order = "longest"
    """Which runs start first: the longest, so that all end soonest, or those that decide most claims for their time."""
    scratch: Path | None = None
    """Folder for run folders. Default: in the cache."""
    resident: bool = False
    """Keep all features on the device."""
    replay: bool = False
    """Record training steps as CUDA graphs and replay them."""
    compile: bool = False
    """Compile the backbone of rows that are trained end to end."""
    tf32: bool = False
    """Round factors of float32 matrix products to TF32 on a GPU that can: several times as fast, and results say so."""
    pixels: str = "auto"
    """Where the images of such rows are kept: device, stream (decoded for every batch), or auto."""
    keep: bool = False
    """Keep run folders after they are measured. Run folders that an earlier call kept always stay."""

    @property
    def devices(self) -> list[str]:
        """The devices, one by one."""
        return self.device.split(",")

    def open_cache(self) -> Cache:
        """The cache of results and runs."""
        return Cache(self.cache, self.scratch)
