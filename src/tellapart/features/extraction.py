"""Features of a pack's images, one vector, a grid of cells, or regions, in one pass.

Needs torch, numpy and Pillow alone, so that it also runs on machines where the command line cannot be installed.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from tellapart.core.device import usable_device
from tellapart.core.errors import InputError
from tellapart.core.progress import progress_bar
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.features.backbones import Backbone, load_backbone, short_name
from tellapart.features.pipeline import Pipeline, Target
from tellapart.features.regions import Regions, choose_regions
from tellapart.features.store_writer import StorePlan, StoreWriter
from tellapart.images.decoding import Resize
from tellapart.images.formats import image_suffixes

KINDS = ("vector", "grid", "regions")
CPU_BATCH, ACCELERATOR_BATCH = 4, 64


@dataclass(frozen=True)
class ExtractSettings:
    """Compute features of every image of a pack, or bring in features that others computed."""

    pack: Path
    """The pack, as `tellapart prepare` made it."""
    backbone: str = "efficientnet-lite0"
    """efficientnet-lite0, -lite1 or -lite2; a transformers vision model's name or folder; or timm:NAME."""
    kind: str = "grid"
    """vector (one row an image), grid (one row a cell of the map), regions (one row a box), or several with commas:
    all are made in one pass over the images."""
    name: str = ""
    """Name of the features in the pack. Empty: backbone and kind, as in lite0-grid. With several kinds, NAME-KIND."""
    resize: Literal["auto", "squash", "crop"] = "auto"
    """squash shows the network the whole image, crop the centre of it as most papers do. auto: squash where grid or
    regions are asked for, since their boxes are fractions of the whole image; crop for vectors alone."""
    regions_from: str = "auto"
    """detections (those in the pack), fixed (boxes at several scales), or a transformers object detector's name or
    folder, which adds detections to the pack first. auto: detections where the pack has them, fixed boxes otherwise."""
    count: int = 36
    """Regions an image: the best detections, filled up with fixed boxes."""
    named: bool = False
    """Regions also say what the detector called them: its score at one more number for each name there is, so that a
    small backbone can learn from a better detector."""
    cut: int = 0
    """Cut each region out of what the network sees of the image, with a little of what is round it, make it a square
    of so many pixels (128, say) and show it to the network by itself: slower than averaging the image's map inside
    its box, which is what 0 does, but what comes of it is about the region alone."""
    cells: bool = False
    """Regions are followed by the cells of the whole image's map: what lies in no region is seen too."""
    flip: bool = False
    """Also write NAME-flip, the features of the mirror images; training may draw from both."""
    imports: Path | None = None
    """Bring in features instead of computing them: a folder of .npy or .npz an image, a bottom-up .tsv, an HDF5 file,
    or a folder of *_precomp arrays with caps files (then the pack may be new: it is made from them)."""
    batch: int = 0
    """Images through the network at once. 0: 4 on a CPU, 64 on an accelerator."""
    workers: int = 0
    """Threads that decode (and, on a CPU, run the network). 0: one a core."""
    device: str = "auto"
    """cpu, cuda, …; auto takes an accelerator where there is one."""
    overwrite: bool = False
    """Replace features of that name that were made in another way."""
    progress: bool = True
    """Show a progress bar."""


def extract(options: ExtractSettings) -> tuple[FeatureStore, ...]:
    """The finished stores, in the order of the kinds asked for, each followed by its mirror image where `flip` is set.

    Features that are there already and were made the same way are left as they are; an unfinished run is continued.
    """
    if options.imports is not None:
        from tellapart.features.importers.importing import import_features

        imported = import_features(options.pack, options.imports, options.name, options.overwrite)
        return _told((imported,), options.progress)
    kinds = _kinds(options.kind)
    _check_numbers(options)
    pack = Pack(options.pack)
    if not pack.images:
        raise InputError(f"{pack.folder} has no images, only sentences; there is nothing to extract.")
    if not any(image.file for image in pack.images):
        raise InputError(
            f"{pack.folder} has no image files to look at; use the features it has "
            f"({', '.join(pack.feature_names()) or 'none'})."
        )
    _check_region_options(options, kinds)
    image_suffixes()  # registers plugins, so that whatever could be indexed can be extracted
    device = usable_device(options.device)
    backbone = load_backbone(options.backbone).to(device)
    if options.cut:
        _check_cut(backbone, options.cut)
    resize: Resize = options.resize if options.resize != "auto" else "crop" if kinds == ("vector",) else "squash"
    regions, label_names, origin = _regions(pack, options, device) if "regions" in kinds else (None, [], "")
    if options.named and not label_names:
        raise InputError(
            "--named is for regions that a detector has named: add --kind regions and detections, or a detector's name "
            "with --regions-from."
        )
    batch = options.batch or (CPU_BATCH if device.type == "cpu" else ACCELERATOR_BATCH)

    height, width = backbone.map_size()
    rows = {"vector": 1, "grid": height * width, "regions": options.count + options.cells * height * width}
    targets: list[Target] = []
    try:
        for kind in kinds:
            facts = _facts(pack, backbone, kind, resize, device)
            facts |= {"grid": [height, width]} if kind == "grid" else {}
            if kind == "regions":
                facts |= _region_facts(regions, label_names, origin)
                facts |= {"named": True, "width": backbone.width + len(label_names)} if options.named else {}
                facts |= {"cut": options.cut} if options.cut else {}
                facts |= {"cells": height * width} if options.cells else {}
            for flipped in (False, True) if options.flip else (False,):
                name = _name(options, kind, several=len(kinds) > 1) + ("-flip" if flipped else "")
                plan = StorePlan(
                    {**facts, "flipped": flipped},
                    np.full(len(pack.images), rows[kind], np.int64),
                    batch,
                    boxes=kind != "vector",
                    detections=kind == "regions",
                )
                targets.append(Target(kind, flipped, StoreWriter(pack.feature_folder(name), plan, options.overwrite)))
        names = len(label_names) if options.named else 0
        pipeline = Pipeline(pack, backbone, targets, resize, regions, options.cut, options.cells, names)
        left = sum(len(targets[0].writer.plan.images_of(unit)) for unit in pipeline.missing_units())
        label = "extracting " + ", ".join(target.writer.folder.name for target in targets)
        images, shown = len(pack.images), options.progress and left > 0
        with progress_bar(images, label, enabled=shown, done=images - left, unit="images") as advance:
            pipeline.run(options.workers or cores(), advance)
        _reject_faults(pipeline.faults, pack)
        return _told(tuple(target.writer.finish() for target in targets), options.progress)
    finally:
        for target in targets:
            target.writer.close()


def _check_numbers(options: ExtractSettings) -> None:
    if options.workers < 0 or options.batch < 0:
        raise InputError("--workers and --batch are at least 1 (0 for the usual).")
    if options.count < 1:
        raise InputError(f"--count is how many regions an image has, at least 1, not {options.count}.")


def _check_region_options(options: ExtractSettings, kinds: tuple[str, ...]) -> None:
    if "regions" in kinds:
        return
    if options.cells:
        raise InputError("--cells is for regions (--kind regions); cells alone are --kind grid.")
    if options.cut:
        raise InputError("--cut is for regions: add --kind regions.")
    if options.regions_from != ExtractSettings.regions_from:
        raise InputError(f"--regions-from is for regions: add them, as in --kind {','.join((*kinds, 'regions'))}.")


def _check_cut(backbone: Backbone, size: int) -> None:
    """By trying: some networks take squares of any size above a least one, some of one size alone."""
    probe = torch.zeros(1, 3, max(size, 0), max(size, 0), device=backbone.get_buffer("scale").device)
    try:
        with torch.inference_mode():
            backbone.pooled(probe)
    except (RuntimeError, ValueError) as error:
        own = backbone.preprocessing.size
        raise InputError(
            f"{backbone.name} cannot look at squares of {size} pixels ({error}); try --cut {own}, its own size."
        ) from error


def _told(stores: tuple[FeatureStore, ...], aloud: bool) -> tuple[FeatureStore, ...]:
    """Say what there is now, and give it back."""
    for store in stores if aloud else ():
        rows = "one row" if store.most_rows == 1 else f"up to {store.most_rows} rows"
        print(f"{store.folder}: {store.kind}, {len(store)} images, {rows} of {store.width} each")
    return stores


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _kinds(text: str) -> tuple[str, ...]:
    kinds = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    strangers = [kind for kind in kinds if kind not in KINDS]
    if strangers or not kinds:
        raise InputError(
            f"There is no kind of features '{text}'; choose among {', '.join(KINDS)}, with commas between."
        )
    return kinds


def _name(options: ExtractSettings, kind: str, several: bool) -> str:
    if not options.name:
        chosen = {"-cut": options.cut, "-cells": options.cells, "-named": options.named}
        special = "".join(ending for ending, wanted in chosen.items() if wanted)
        return f"{short_name(options.backbone)}-{kind}" + (special if kind == "regions" else "")
    return f"{options.name}-{kind}" if several else options.name


def _facts(pack: Pack, backbone: Backbone, kind: str, resize: Resize, device: torch.device) -> dict[str, Any]:
    images = "\n".join(f"{image.id}\t{image.file}" for image in pack.images)
    return {
        "kind": kind,
        "width": backbone.width,
        "backbone": backbone.name,
        "preprocessing": {
            key: list(v) if isinstance(v, tuple) else v for key, v in asdict(backbone.preprocessing).items()
        },
        "resize": resize,
        "device": device.type,
        "pictures": hashlib.sha256(images.encode()).hexdigest()[:16],
    }


def _regions(pack: Pack, options: ExtractSettings, device: torch.device) -> tuple[list[Regions], list[str], str]:
    """Boxes of every image, the names of their labels, and where they came from."""
    origin = options.regions_from
    if origin == "auto":
        origin = "detections" if (pack.folder / "detections.jsonl").is_file() else "fixed"
    elif origin not in ("detections", "fixed"):
        from tellapart.features.detectors import detect

        detect(pack, origin, device, options.count, options.workers or cores(), options.overwrite)
        pack = Pack(pack.folder)
    found = {} if origin == "fixed" else pack.detections
    if origin == "detections" and not found:
        raise InputError(
            f"{pack.folder} has no detections; prepare it with them, or give --regions-from fixed or a detector's name."
        )
    label_names = sorted({label for detections in found.values() for label in detections.labels})
    label_ids = {label: index for index, label in enumerate(label_names)}
    regions = [choose_regions(found.get(row), options.count, label_ids) for row in range(len(pack.images))]
    return regions, label_names, origin


def _region_facts(regions: list[Regions] | None, label_names: list[str], origin: str) -> dict[str, Any]:
    assert regions is not None
    digest = hashlib.sha256(b"".join(part.tobytes() for r in regions for part in (r.boxes, r.scores, r.labels)))
    return {"regions_from": origin, "label_names": label_names, "boxes": digest.hexdigest()[:16]}


def _reject_faults(faults: list[str], pack: Pack) -> None:
    if not faults:
        return
    shown = "; ".join(sorted(faults)[:10]) + (f"; and {len(faults) - 10} more" if len(faults) > 10 else "")
    raise InputError(
        f"{len(faults)} of the {len(pack.images)} images of {pack.folder} cannot be read: {shown}. Everything else "
        "is done and kept: mend these files and run the same command again, or prepare the pack anew without them."
    )
