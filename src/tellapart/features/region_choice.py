"""Which boxes of a pack's images become regions: its detections, a detector's, or fixed boxes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import torch

from tellapart.core.errors import InputError
from tellapart.core.progress import progress_bar
from tellapart.data.pack import Pack
from tellapart.features.regions import Regions, choose_regions

AUTO, DETECTIONS, FIXED = "auto", "detections", "fixed"


@dataclass(frozen=True)
class RegionSettings:
    """Where regions come from and what their rows hold."""

    regions_from: str = AUTO
    """detections (the pack's), fixed (boxes at several scales), or a transformers detector's name or folder.
    auto: detections if the pack has them, else fixed."""
    count: int = 36
    """Regions per image: the best detections, filled up with fixed boxes."""
    named: bool = False
    """Append one number per detector label to each row: the score at the region's label, 0 elsewhere."""
    cut: int = 0
    """Crop each region, resize it to this many pixels and run the network on it; 0 pools the image's feature map."""
    cells: bool = False
    """Append the cells of the whole image's feature map to the regions."""

    def check(self, kinds: tuple[str, ...]) -> None:
        """Raise an InputError for settings that are invalid, or that need regions if there are none."""
        if self.count < 1:
            raise InputError(f"`count` must be at least 1 region per image, not {self.count}.")
        if "regions" in kinds:
            return
        if self.cells:
            raise InputError("`cells` needs `kind='regions'`; for cells alone use `kind='grid'`.")
        if self.cut:
            raise InputError("`cut` needs `kind='regions'`.")
        if self.regions_from != AUTO:
            raise InputError(f"`regions_from` needs regions, as in `kind='{','.join((*kinds, 'regions'))}'`.")


@dataclass(frozen=True)
class PackRegions:
    """The regions of every image of a pack."""

    rows: list[Regions]
    label_names: list[str]
    origin: str
    """detections, fixed, or the detector's name."""

    def facts(self) -> dict[str, Any]:
        """What features.json says of them."""
        parts = (part.tobytes() for row in self.rows for part in (row.boxes, row.scores, row.labels))
        digest = hashlib.sha256(b"".join(parts)).hexdigest()[:16]
        return {"regions_from": self.origin, "label_names": self.label_names, "boxes": digest}


def regions_of(
    pack: Pack,
    settings: RegionSettings,
    *,
    device: torch.device | str = "cpu",
    workers: int = 1,
    overwrite: bool = False,
    progress: bool = False,
) -> PackRegions:
    """Choose the regions of every image; a detector named in the settings first adds its detections to the pack."""
    origin = settings.regions_from
    if origin == AUTO:
        origin = DETECTIONS if (pack.folder / "detections.jsonl").is_file() else FIXED
    elif origin not in (DETECTIONS, FIXED):
        from tellapart.features.detectors import detect

        with progress_bar(len(pack.images), "detecting", enabled=progress, unit="images") as advance:
            detect(pack, origin, device, settings.count, workers, overwrite=overwrite, advance=advance)
        pack = Pack(pack.folder)
    found = {} if origin == FIXED else pack.detections
    if origin == DETECTIONS and not found:
        raise InputError(
            f"{pack.folder} has no detections; prepare it with them, or use `regions_from='fixed'` or a detector's "
            "name."
        )
    label_names = sorted({label for detections in found.values() for label in detections.labels})
    label_ids = {label: index for index, label in enumerate(label_names)}
    rows = [choose_regions(found.get(row), settings.count, label_ids) for row in range(len(pack.images))]
    if settings.named and not label_names:
        raise InputError("`named` needs regions with labels; give detections or a detector with `regions_from`.")
    return PackRegions(rows, label_names, origin)
