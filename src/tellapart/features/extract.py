"""Extracting features of a pack's images: one vector, a grid of cells, or regions, in one pass.

Needs only torch, numpy and Pillow, so that it runs on machines without the command line's packages.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from tellapart.core.device import usable_device
from tellapart.core.errors import InputError
from tellapart.core.paths import OnePath
from tellapart.core.precision import weights_type
from tellapart.core.progress import progress_bar
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.squares import stored_side
from tellapart.features.backbones import Backbone, load_backbone, short_name
from tellapart.features.pipeline import Pipeline, Target
from tellapart.features.region_choice import PackRegions, RegionSettings, regions_of
from tellapart.features.squares import From, check_stored, square_reader
from tellapart.features.store_writer import StorePlan, StoreWriter
from tellapart.images.decoding import Resize
from tellapart.images.formats import image_suffixes

KINDS = ("vector", "grid", "regions")
CPU_BATCH, ACCELERATOR_BATCH = 4, 64


def extract_features(
    pack: Pack | OnePath,
    *,
    backbone: str = "efficientnet-lite0",
    kind: str = "grid",
    name: str = "",
    resize: Literal["auto", "squash", "crop", "own"] = "auto",
    images: From = "files",
    regions: RegionSettings | None = None,
    flip: bool = False,
    batch: int = 0,
    workers: int = 0,
    device: str = "auto",
    precision: str = "auto",
    compile: bool = False,
    overwrite: bool = False,
    progress: bool = False,
) -> tuple[FeatureStore, ...]:
    """The finished stores in the order of `kind`, each followed by its mirror images if `flip` is set.

    kind: vector, grid, regions, or several separated by commas. name: default is backbone and kind, as in lite0-grid.
    resize: squash shows the network the whole image, crop its centre, own what the image processor of a model of
    transformers makes; auto is squash for grid and regions, and for vectors alone own where there is one, else crop.
    images: files, or stored: the squares that the pack stores, from which whole images are resized.
    batch: images per batch; 0 is 4 on a CPU, 64 on an accelerator. workers: threads; 0 is one per core.
    precision: of the backbone: float32 (auto), bfloat16 or float16. Features are stored in float16, whichever it is.
    compile: compile the backbone (torch.compile), which takes a minute and pays for many images.

    Features that exist and were made in the same way are kept; an interrupted extraction resumes.
    """
    kinds, regions = parse_kinds(kind), regions or RegionSettings()
    if workers < 0 or batch < 0:
        raise InputError("`workers` and `batch` must be at least 1, or 0 for the default.")
    regions.check(kinds)
    pack = pack if isinstance(pack, Pack) else Pack(Path(pack))
    if images == "stored":
        check_stored(pack, resize)
    else:
        _check_images(pack)
    image_suffixes()  # registers plugins, so that every image that can be indexed can be extracted
    used = usable_device(device)
    half = weights_type(precision)
    network = load_backbone(backbone).to(used)
    if half != torch.float32:
        network.to_half(half)
    if regions.cut:
        _check_cut(network, regions.cut)
    workers = workers or cores()
    shape = "squash" if images == "stored" else _resize(resize, kinds, network)
    found = None
    if "regions" in kinds:
        found = regions_of(pack, regions, device=used, workers=workers, overwrite=overwrite, progress=progress)
    elif regions.named:
        raise InputError("`named` needs `kind='regions'`.")
    names = {kind: _name(name, backbone, kind, regions, several=len(kinds) > 1) for kind in kinds}
    batch = batch or (CPU_BATCH if used.type == "cpu" else ACCELERATOR_BATCH)

    targets: list[Target] = []
    try:
        for kind in kinds:
            facts = _facts(pack, network, kind, shape, used, images) | _kind_facts(network, kind, regions, found)
            for flipped in (False, True) if flip else (False,):
                plan = _plan(pack, network, kind, {**facts, "flipped": flipped}, regions, batch)
                folder = pack.feature_folder(names[kind] + ("-flip" if flipped else ""))
                targets.append(Target(kind, flipped, StoreWriter(folder, plan, overwrite)))
        labels = len(found.label_names) if found is not None and regions.named else 0
        boxes = None if found is None else found.rows
        read = square_reader(pack, network, shape, images)
        pipeline = Pipeline(pack, network, targets, read, boxes, cut=regions.cut, cells=regions.cells, names=labels)
        if compile:
            network.network.compile()
        _run(pipeline, workers, progress)
        return tuple(target.writer.finish() for target in targets)
    finally:
        for target in targets:
            target.writer.close()


def _resize(given: str, kinds: tuple[str, ...], network: Backbone) -> Resize:
    if given != "auto":
        return given  # type: ignore[return-value]
    if kinds != ("vector",):
        return "squash"
    return "crop" if network.processor is None else "own"


def parse_kinds(text: str) -> tuple[str, ...]:
    """Kinds of features from text such as "vector,grid".

    >>> parse_kinds("vector, grid,vector")
    ('vector', 'grid')
    """
    kinds = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not kinds or any(kind not in KINDS for kind in kinds):
        raise InputError(f"`kind` must be one or several of {', '.join(KINDS)}, separated by commas, not '{text}'.")
    return kinds


def cores() -> int:
    """Number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_images(pack: Pack) -> None:
    if not pack.images:
        raise InputError(f"{pack.folder} has no images, only sentences; there is nothing to extract.")
    if not any(image.file for image in pack.images):
        raise InputError(
            f"{pack.folder} has no image files; use the features it has ({', '.join(pack.feature_names()) or 'none'})."
        )


def _check_cut(backbone: Backbone, size: int) -> None:
    """Try it: some networks accept squares of any size above a minimum, some only one size."""
    probe = torch.zeros(1, 3, max(size, 0), max(size, 0), device=backbone.get_buffer("scale").device)
    try:
        with torch.inference_mode():
            backbone.pooled(probe)
    except (RuntimeError, ValueError) as error:
        own = backbone.preprocessing.size
        raise InputError(
            f"{backbone.name} does not accept squares of {size} pixels ({error}); use `cut={own}`, its own size."
        ) from error


def _name(name: str, backbone: str, kind: str, regions: RegionSettings, several: bool) -> str:
    if name:
        return f"{name}-{kind}" if several else name
    suffixes = {"-cut": regions.cut, "-cells": regions.cells, "-named": regions.named}
    special = "".join(suffix for suffix, used in suffixes.items() if used)
    return f"{short_name(backbone)}-{kind}" + (special if kind == "regions" else "")


def _facts(
    pack: Pack, backbone: Backbone, kind: str, resize: Resize, device: torch.device, images: From
) -> dict[str, Any]:
    names = "\n".join(f"{image.id}\t{image.file}" for image in pack.images)
    return {
        **({"stored": stored_side(pack)} if images == "stored" else {}),
        "kind": kind,
        "width": backbone.width,
        "backbone": backbone.name,
        "preprocessing": {
            key: list(v) if isinstance(v, tuple) else v for key, v in asdict(backbone.preprocessing).items()
        },
        "resize": resize,
        "device": device.type,
        **({} if backbone.half_type is None else {"precision": str(backbone.half_type).removeprefix("torch.")}),
        "pictures": hashlib.sha256(names.encode()).hexdigest()[:16],
    }


def _kind_facts(backbone: Backbone, kind: str, regions: RegionSettings, found: PackRegions | None) -> dict[str, Any]:
    height, width = backbone.map_size()
    if kind == "grid":
        return {"grid": [height, width]}
    if kind != "regions" or found is None:
        return {}
    facts = found.facts()
    facts |= {"named": True, "width": backbone.width + len(found.label_names)} if regions.named else {}
    facts |= {"cut": regions.cut} if regions.cut else {}
    return facts | ({"cells": height * width} if regions.cells else {})


def _plan(
    pack: Pack, backbone: Backbone, kind: str, facts: dict[str, Any], regions: RegionSettings, batch: int
) -> StorePlan:
    height, width = backbone.map_size()
    rows = {"vector": 1, "grid": height * width, "regions": regions.count + regions.cells * height * width}[kind]
    counts = np.full(len(pack.images), rows, np.int64)
    return StorePlan(facts, counts, batch, boxes=kind != "vector", detections=kind == "regions")


def _run(pipeline: Pipeline, workers: int, progress: bool) -> None:
    """Fill the stores, counting from where an earlier extraction stopped; unreadable images raise at the end."""
    plan, images = pipeline.targets[0].writer.plan, len(pipeline.pack.images)
    left = sum(len(plan.images_of(unit)) for unit in pipeline.missing_units())
    label = "extracting " + ", ".join(target.writer.folder.name for target in pipeline.targets)
    with progress_bar(images, label, enabled=progress and left > 0, done=images - left, unit="images") as advance:
        pipeline.run(workers, advance)
    faults = pipeline.faults
    if faults:
        shown = "; ".join(sorted(faults)[:10]) + (f"; and {len(faults) - 10} more" if len(faults) > 10 else "")
        raise InputError(
            f"{len(faults)} of the {images} images of {pipeline.pack.folder} cannot be read: {shown}. The features of "
            "all others are kept: fix these files and extract again, or prepare the pack without them."
        )
