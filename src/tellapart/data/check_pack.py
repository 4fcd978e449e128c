"""Checking a pack and its features: checksums, the rows of its files against each other, and its fingerprint.

Word ids follow from captions and vocabulary, so damaged ones are computed again; the fingerprint says whether they are
right.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tellapart.core.checksums import CHECKSUMS, add_checksums, read_checksums, write_checksums
from tellapart.core.errors import Error
from tellapart.core.files import save_array
from tellapart.core.findings import Findings
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.stored_pixels import StoredPixels, has_pixels
from tellapart.data.write_pack import encoded_captions, fingerprint_of

ARRAYS = ("tokens.npy", "offsets.npy", "owner.npy")


def check_pack(folder: Path, repair: bool = False) -> Findings:
    """Check a pack with its columns, features and stored pixels."""
    found = Findings(str(folder), "pack")
    wrong = found.compare_files(folder, "prepare the pack again")
    if repair and set(wrong) & set(ARRAYS):
        _repair_arrays(folder, wrong, found)
    try:
        pack = _opened(folder)
        found.rows = len(pack.images)
        _check_rows(pack, found)
    except (Error, OSError, ValueError, KeyError, IndexError) as error:
        if not found.damaged:
            found.problem(f"{error}")
        return found
    for inner in sorted(path.parent for path in folder.glob(f"*/{CHECKSUMS}")):
        found.compare_files(inner, "annotate the pack again")
    for name in pack.feature_names():
        check_features(pack.feature_folder(name), repair, found, images=len(pack.images))
    if has_pixels(pack):
        try:
            StoredPixels(pack).verify()
        except Error as error:
            found.problem(str(error))
    if repair and read_checksums(folder) is None and not found.damaged:
        write_checksums(folder)
    return found


def check_features(
    folder: Path, repair: bool = False, found: Findings | None = None, images: int | None = None
) -> Findings:
    """Check features: checksums, offsets, and that every value is finite."""
    found = found or Findings(str(folder), "features")
    before = len(found.problems)
    found.compare_files(folder, "extract the features again")
    if len(found.problems) > before:
        return found
    try:
        store = FeatureStore(folder)
        steps = np.diff(store.offsets)
        if images is not None and len(store) != images:
            found.problem(f"{folder} has features of {len(store)} images, the pack {images}; extract them again.")
        if len(store.offsets) < 1 or int(store.offsets[0]) != 0 or (steps < 0).any():
            found.problem(f"{folder / 'offsets.npy'} is damaged: its numbers do not grow; extract the features again.")
        elif not all(np.isfinite(store.values[at : at + 65536]).all() for at in range(0, len(store.values), 65536)):
            found.problem(f"{folder / 'values.f16'} is damaged: a value is not finite; extract the features again.")
    except (Error, OSError, ValueError, KeyError) as error:
        found.problem(str(error))
        return found
    if found.kind == "features":
        found.rows = len(store)
    if repair and read_checksums(folder) is None and len(found.problems) == before:
        write_checksums(folder)
    return found


def _opened(folder: Path) -> Pack:
    return Pack(folder)


def _check_rows(pack: Pack, found: Findings) -> None:
    """Compare the files of a pack with each other."""
    counts = {"pictures": len(pack.images), "captions": len(pack.captions), "words": len(pack.vocabulary)}
    if pack.manifest.get("counts", counts) != counts:
        found.problem(f"{pack.folder} has {counts}, but pack.json names {pack.manifest['counts']}; prepare it again.")
    owner = [caption.image for caption in pack.captions]
    if pack.owner.tolist() != owner or any(not -1 <= image < len(pack.images) for image in owner):
        found.problem(f"{pack.folder / 'owner.npy'} is damaged: it does not fit captions.jsonl; repair the pack.")
    if fingerprint_of(pack.images, pack.vocabulary, pack.tokens, pack.offsets, pack.owner) != pack.fingerprint:
        found.problem(f"{pack.folder} is damaged: its fingerprint is not that of its files; prepare it again.")
    missing = sum(bool(image.file) and not pack.image_path(row).is_file() for row, image in enumerate(pack.images))
    if missing:
        found.notes.append(f"{missing} of {len(pack.images)} image files are not where the pack names them.")


def _repair_arrays(folder: Path, wrong: list[str], found: Findings) -> None:
    """Compute word ids and owners again, if what they follow from is whole."""
    if {"pictures.jsonl", "captions.jsonl", "vocabulary.json", "pack.json"} & set(wrong):
        return
    for name in ARRAYS:
        if name in wrong:
            (folder / name).unlink(missing_ok=True)
    pack = _opened(folder)
    arrays = dict(zip(ARRAYS, encoded_captions(pack.captions, pack.vocabulary)))
    whole = fingerprint_of(pack.images, pack.vocabulary, *arrays.values()) == pack.fingerprint
    for name in set(wrong) & set(ARRAYS) if whole else ():
        save_array(folder / name, arrays[name])
        add_checksums(folder, name)
        found.repaired(folder / name, "it was computed again from the captions")
