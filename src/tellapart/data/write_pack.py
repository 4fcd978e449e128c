"""Writing a pack (`data/pack.py` describes its files)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.checksums import write_checksums
from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, save_array, write_json, write_lines
from tellapart.core.leftovers import recover
from tellapart.data.pack import FORMAT, STORED_PER, Pack
from tellapart.data.pack_types import Caption, Column, Detections, PackImage, Phrase
from tellapart.text.vocabulary import Vocabulary


def check_overwrite(out: Path, overwrite: bool) -> None:
    """Raise an InputError unless `out` is free, or is a pack and `overwrite` is set."""
    recover(out)
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / "pack.json").is_file():
        raise InputError(f"{out} exists and is not a pack; choose another `out`.")
    if not overwrite:
        raise InputError(f"{out} is a pack already; choose another `out`, or replace it with `overwrite=True`.")


def write_pack(
    folder: Path,
    name: str,
    root: str,
    images: Sequence[PackImage],
    captions: Sequence[Caption],
    vocabulary: Vocabulary,
    rules: dict[str, Any],
    phrases: Sequence[Phrase] = (),
    detections: Sequence[Detections] = (),
    report: dict[str, Any] | None = None,
    columns: Mapping[str, Column] | None = None,
    fill: Callable[[Path], None] | None = None,
) -> Pack:
    """Write a pack; its folder appears when it is complete.

    `fill` may write further files (images, say) into the temporary folder.
    """
    tokens, offsets, owner = encoded_captions(captions, vocabulary)
    manifest = {
        "format": FORMAT,
        "name": name,
        "root": root,
        "fingerprint": fingerprint_of(images, vocabulary, tokens, offsets, owner),
        "rules": rules,
        "counts": {"pictures": len(images), "captions": len(captions), "words": len(vocabulary)},
    }
    with atomic_folder(folder) as partial:
        write_lines(partial / "pictures.jsonl", [vars(image) for image in images])
        write_lines(partial / "captions.jsonl", [_stored(caption) for caption in captions])
        vocabulary.save(partial / "vocabulary.json")
        save_array(partial / "tokens.npy", tokens)
        save_array(partial / "offsets.npy", offsets)
        save_array(partial / "owner.npy", owner)
        if phrases:
            write_lines(partial / "phrases.jsonl", [vars(phrase) for phrase in phrases])
        if detections:
            write_lines(partial / "detections.jsonl", [_stored(found) for found in detections])
        for title, column in (columns or {}).items():
            write_json(
                partial / "columns" / f"{title}.json", {"per": STORED_PER.get(column.per, column.per), **column.facts}
            )
            save_array(partial / "columns" / f"{title}.npy", column.values)
        if fill is not None:
            fill(partial)
        write_json(partial / "report.json", report or {})
        write_json(partial / "pack.json", manifest)
        write_checksums(partial)
    return Pack(folder)


def encoded_captions(captions: Sequence[Caption], vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Word ids of all captions, their offsets [C + 1], and the image of each caption [C]."""
    encoded = [vocabulary.encode(caption.words) for caption in captions]
    lengths = np.asarray([len(ids) for ids in encoded], dtype=np.int64)
    tokens = np.asarray([index for ids in encoded for index in ids], dtype=np.int32)
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    return tokens, offsets, np.asarray([caption.image for caption in captions], dtype=np.int64)


def fingerprint_of(images: Sequence[PackImage], vocabulary: Vocabulary, *arrays: np.ndarray) -> str:
    """A hash of images, splits, vocabulary, and of the arrays of `encoded_captions`."""
    digest = hashlib.sha256()
    digest.update("\n".join(f"{image.id}\t{image.split}" for image in images).encode())
    digest.update("\n".join(vocabulary.words).encode())
    for array in arrays:
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def _stored(row: Caption | Detections) -> dict[str, Any]:
    """A line of captions.jsonl or detections.jsonl; the format calls the image row "picture"."""
    return {"picture" if name == "image" else name: value for name, value in vars(row).items()}
