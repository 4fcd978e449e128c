"""Importing features that were computed elsewhere into a pack."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.explained import explained
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.pack_types import PackImage
from tellapart.features.importers.files import FileSource
from tellapart.features.importers.hdf5 import Hdf5Source
from tellapart.features.importers.precomp import PrecompSource
from tellapart.features.importers.source import FeatureSource, box_fractions, match_keys
from tellapart.features.importers.tsv import TsvSource
from tellapart.features.store_writer import Rows, StorePlan, StoreWriter

UNIT = 64
ADVICE = "fix it or make it again"

SOURCES: dict[str, type[FileSource] | type[TsvSource] | type[Hdf5Source] | type[PrecompSource]] = {
    "files": FileSource,
    "tsv": TsvSource,
    "hdf5": Hdf5Source,
    "precomp": PrecompSource,
}
SUFFIXES = {".tsv": "tsv", ".h5": "hdf5", ".hdf5": "hdf5", ".hdf": "hdf5"}


def recognise(path: Path) -> str:
    """The name in SOURCES of the format of a path."""
    if path.is_dir():
        return "precomp" if any(path.glob("*_ims.npy")) else "files"
    if not path.exists():
        raise InputError(f"{path} does not exist; give a folder of arrays, a .tsv or an HDF5 file.")
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{path} is not a known format of features; give a folder of .npy or .npz, a .tsv, .h5 or .hdf5 file."
        )
    return SUFFIXES[path.suffix.lower()]


def import_features(pack_folder: Path, path: Path, name: str = "", overwrite: bool = False) -> FeatureStore:
    """Import the features at `path` as `name`; a *_precomp folder creates the pack if there is none."""
    with explained(path, ADVICE):
        source = SOURCES[recognise(path)](path)
    if isinstance(source, PrecompSource) and not (pack_folder / "pack.json").is_file():
        source.make_pack(pack_folder)
    pack = Pack(pack_folder)
    with explained(path, ADVICE):
        keys = match_keys(pack.images, source)
        counts = np.asarray([source.count(key) for key in keys], np.int64)
    facts = {
        "kind": source.kind,
        "width": source.width,
        "backbone": f"imported from {path.name}",
        "label_names": source.label_names,
        "flipped": False,
        "source": _state(path),
    }
    if len(counts) and counts.min() == 0:
        raise InputError(f"{path} has no rows for image {pack.images[int(counts.argmin())].id}; make them again.")
    plan = StorePlan(facts, counts, UNIT, boxes=source.has_boxes, detections=source.has_detections)
    writer = StoreWriter(pack.feature_folder(name or path.stem), plan, overwrite)
    try:
        for unit in range(plan.units):
            if unit not in writer.finished:
                images = plan.images_of(unit).tolist()
                with explained(path, ADVICE):
                    rows = _rows(source, [keys[i] for i in images], [pack.images[i] for i in images])
                    _check_counts(rows, int(counts[images].sum()), source)
                writer.write(unit, rows)
        return writer.finish()
    finally:
        writer.close()


def _state(path: Path) -> list[int]:
    """Number, size and time of the files, so that changed files are imported again."""
    files = [path] if path.is_file() else [file for file in path.iterdir() if file.is_file()]
    found = [file.stat() for file in files]
    return [len(found), sum(one.st_size for one in found), max((one.st_mtime_ns for one in found), default=0)]


def _rows(source: FeatureSource, keys: list[str], images: list[PackImage]) -> Rows:
    found = [source.read(key) for key in keys]
    boxes = None
    if source.has_boxes:
        missing = [image.id for image, one in zip(images, found, strict=True) if one.boxes is None]
        if missing:
            raise InputError(f"{source.path} has boxes for some images but none for {missing[0]}; make them again.")
        boxes = np.concatenate([box_fractions(one, image, source.path) for one, image in zip(found, images)])
    return Rows(
        np.concatenate([np.asarray(one.values).astype(np.float32, casting="same_kind") for one in found]),
        boxes,
        np.concatenate([one.scores for one in found if one.scores is not None]) if source.has_detections else None,
        np.concatenate([one.labels for one in found if one.labels is not None]) if source.has_detections else None,
    )


def _check_counts(rows: Rows, count: int, source: FeatureSource) -> None:
    """Raise an InputError unless there is one feature row, box, score and label for each of `count` rows."""
    shape = (count, source.width)
    if rows.values.shape != shape:
        raise InputError(
            f"{source.path} has features of shape {rows.values.shape} where {shape} are expected; {ADVICE}."
        )
    for name in ("boxes", "scores", "labels"):
        values = getattr(rows, name)
        if values is not None and len(values) != count:
            raise InputError(f"{source.path} has {len(values)} {name} for {count} rows of features; {ADVICE}.")
