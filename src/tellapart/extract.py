"""`tellapart extract`: features of a pack's pictures (vision/extraction.py)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from tellapart.vision.extraction import ExtractSettings, extract

__all__ = ["ExtractOptions", "extract"]


@dataclass(frozen=True)
class ExtractOptions(ExtractSettings):
    """Compute features of every picture of a pack, or bring in features that others computed."""

    pack: Positional[Annotated[Path, arg(metavar="PACK")]]
    """The pack, as `tellapart prepare` made it."""
