"""`tellapart extract`: features of a pack's images (features/extraction.py), as asked for or as a run's were made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from tellapart.core.errors import InputError
from tellapart.core.files import read_json
from tellapart.data.feature_store import FeatureStore
from tellapart.features import extraction
from tellapart.features.extraction import ExtractSettings
from tellapart.inference.feature_extractor import look_of
from tellapart.runs.bundled import run_folder

LOOKS = ("backbone", "kind", "resize", "regions_from", "count", "named", "cut", "cells")
"""Options that say how images are looked at."""


@dataclass(frozen=True)
class ExtractOptions(ExtractSettings):
    """Compute features of every image of a pack, or bring in features that others computed."""

    pack: Positional[Annotated[Path, arg(metavar="PACK")]]
    """The pack, as `tellapart prepare` made it."""
    like: str = ""
    """A run whose features are made again for these images, so that it can go on learning from them: backbone, kind,
    resize and regions are its own. bundled:captioner or bundled:matcher for those that came with the package."""


def extract(options: ExtractOptions) -> tuple[FeatureStore, ...]:
    """The finished stores, as `vision.extraction.extract` gives them."""
    return extraction.extract(_as_in(options) if options.like else options)


def _as_in(options: ExtractOptions) -> ExtractOptions:
    """The options by which a run's features were made."""
    changed = [name for name in LOOKS if getattr(options, name) != getattr(ExtractOptions, name)]
    if changed:
        raise InputError(f"--like says how images are looked at, and so does --{changed[0].replace('_', '-')}; "
                         "leave one away.")  # fmt: skip
    folder = run_folder(options.like)
    if not (folder / "data.json").is_file():
        raise InputError(f"{folder} is not a run folder: it has no data.json. Give a run of `tellapart train`.")
    look = look_of(read_json(folder / "data.json")["features"], folder)
    alike = replace(options, backbone=look.backbone, kind=look.kind, resize=look.resize)
    if look.kind != "regions":
        return alike
    return replace(
        alike,
        regions_from=look.regions_from,
        count=look.regions,
        named=bool(look.names),
        cut=look.cut,
        cells=bool(look.cells),
    )
