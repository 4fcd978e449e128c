"""`tellapart extract PACK`: features of a pack's images, chosen by options or as a run's features were made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from tellapart.core.errors import InputError
from tellapart.core.files import read_json
from tellapart.core.model_names import is_hub
from tellapart.core.precisions import Precision
from tellapart.data.add_pixels import add_pixels
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.store_pixels import store_pixels
from tellapart.data.stored_pixels import StoredPixels
from tellapart.features.extract import cores, extract_features
from tellapart.features.importers.importing import import_features
from tellapart.features.region_choice import RegionSettings
from tellapart.inference.feature_spec import run_spec
from tellapart.runs.bundled import run_folder

SET_BY_LIKE = ("backbone", "kind", "resize", "regions_from", "count", "named", "cut", "cells")
"""Options that --like takes from the run."""


@dataclass(frozen=True)
class ExtractOptions:
    """Compute features of every image of a pack, import features that were computed elsewhere, or store the images."""

    pack: Positional[Annotated[Path, arg(metavar="PACK")]]
    """The pack, as `tellapart prepare` made it."""
    backbone: str = "efficientnet-lite0"
    """efficientnet-lite0, -lite1 or -lite2; pp-lcnet-v2; a transformers vision model's name or folder (hf:FOLDER too);
    or timm:NAME."""
    kind: str = "grid"
    """vector (one row per image), grid (one row per cell of the feature map), regions (one row per box), or several
    separated by commas: all are computed in one pass."""
    name: str = ""
    """Name of the features in the pack. Default: backbone and kind, as in lite0-grid. With several kinds, NAME-KIND."""
    resize: Literal["auto", "squash", "crop", "own"] = "auto"
    """squash shows the network the whole image, crop its centre as most papers do, own what the image processor of a
    model of transformers makes. auto: squash for grid and regions, since their boxes are fractions of the whole image;
    for vectors alone own where the model has a processor, else crop."""
    images: Literal["files", "stored"] = "files"
    """files, or stored: the squares that --store-pixels has stored, for machines without the files. The backbone sees
    whole images, resized from these squares."""
    regions_from: str = "auto"
    """detections (those in the pack), fixed (boxes at several scales), or a transformers object detector's name or
    folder, which first adds detections to the pack. auto: detections if the pack has them, else fixed boxes."""
    count: int = 36
    """Regions per image: the best detections, filled up with fixed boxes."""
    named: bool = False
    """Append the detector's label to each region: one number per label, the score at its own. A small backbone can
    then learn from a better detector."""
    cut: int = 0
    """Crop each region with a little context, resize it to a square of this many pixels (128, say) and run the network
    on it. Slower than 0, which averages the image's feature map inside the box, but about the region alone."""
    cells: bool = False
    """Append the cells of the whole image's feature map to the regions, to cover what lies in no region."""
    flip: bool = False
    """Also write NAME-flip, the features of the mirror images; training may draw from both."""
    imports: Path | None = None
    """Import features instead of computing them: a folder with one .npy or .npz per image, a bottom-up .tsv, an HDF5
    file, or a folder of *_precomp arrays with caps files (which creates the pack if it does not exist)."""
    store_pixels: int = 0
    """Instead of features: store the images in the pack as squares of this side in pixels (224, say), for training a
    backbone on machines without the image files. Images that are stored already are skipped."""
    pixel_format: Literal["webp", "jpeg"] = "webp"
    """Format of stored images."""
    pixel_quality: int = 80
    """Quality of stored images, 1 to 100."""
    add_pixels: tuple[Path, ...] = ()
    """Instead of features: add stored images that arrive in parts, each a folder with images.bin, offsets.npy and
    ids.npy."""
    batch: int = 0
    """Images per batch. 0: 4 on a CPU, 64 on an accelerator."""
    workers: int = 0
    """Threads that decode (and, on a CPU, run the network). 0: one per core."""
    device: str = "auto"
    """cpu, cuda, …; auto uses an accelerator if there is one."""
    precision: Precision = "auto"
    """Of the backbone: float32 (auto), bfloat16 or float16. Features are stored in float16, whichever it is."""
    compile: bool = False
    """Compile the backbone (torch.compile): a minute at the start, which pays for many images."""
    overwrite: bool = False
    """Replace features of the same name that were made in another way."""
    progress: bool = True
    """Show a progress bar and print the result."""
    like: str = ""
    """A run whose features to compute for these images, so that it can be trained further: backbone, kind, resize and
    regions are the run's. bundled:captioner and bundled:matcher are those that come with the package."""


def extract(options: ExtractOptions) -> tuple[FeatureStore, ...]:
    """Write the features, print a line for each, return them; or store or add pixels."""
    if options.store_pixels or options.add_pixels:
        _pixels(options)
        return ()
    stores = _extracted(_like_run(options) if options.like else options)
    for store in stores if options.progress else ():
        rows = "one row" if store.most_rows == 1 else f"up to {store.most_rows} rows"
        print(f"{store.folder}: {store.kind}, {len(store)} images, {rows} of {store.width} each")
    return stores


def _pixels(options: ExtractOptions) -> None:
    """Store the images of the pack, or add parts of stored ones."""
    pack = Pack(options.pack)
    for part in options.add_pixels:
        added = add_pixels(pack, part)
        if options.progress:
            print(f"{part}: {added:,} images added")
    if options.store_pixels:
        workers = options.workers or cores()
        how = {"codec": options.pixel_format, "quality": options.pixel_quality}
        store_pixels(pack, options.store_pixels, **how, workers=workers, progress=options.progress)  # type: ignore[arg-type]
    if options.progress:
        found = StoredPixels(pack)
        print(f"{found.folder}: {int(found.stored.sum()):,} of {len(pack.images):,} images, {found.side} pixels a side")


def _extracted(options: ExtractOptions) -> tuple[FeatureStore, ...]:
    if options.imports is not None:
        return (import_features(options.pack, options.imports, options.name, options.overwrite),)
    return extract_features(
        options.pack,
        backbone=options.backbone,
        kind=options.kind,
        name=options.name,
        resize=options.resize,
        images=options.images,
        regions=RegionSettings(options.regions_from, options.count, options.named, options.cut, options.cells),
        flip=options.flip,
        batch=options.batch,
        workers=options.workers,
        device=options.device,
        precision=options.precision,
        compile=options.compile,
        overwrite=options.overwrite,
        progress=options.progress,
    )


def _like_run(options: ExtractOptions) -> ExtractOptions:
    """The options that make the features of a run."""
    changed = [name for name in SET_BY_LIKE if getattr(options, name) != getattr(ExtractOptions, name)]
    if changed:
        raise InputError(f"`like` sets `{changed[0]}` as in the run; give one of the two.")
    folder = run_folder(options.like)
    if not (folder / "data.json").is_file():
        other = f"; for the features of a model of transformers, give `backbone={folder}`" if is_hub(folder) else ""
        raise InputError(f"{folder} is not a run folder: it has no data.json. Give a run of `tellapart train`{other}.")
    spec = run_spec(read_json(folder / "data.json"), folder)
    alike = replace(options, backbone=spec.backbone, kind=spec.kind, resize=spec.resize)
    if spec.kind != "regions":
        return alike
    return replace(
        alike,
        regions_from=spec.regions_from,
        count=spec.regions,
        named=bool(spec.names),
        cut=spec.cut,
        cells=bool(spec.cells),
    )
