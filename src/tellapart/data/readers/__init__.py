"""The readers by name, and which of them a source calls for. A new format is one file here and one line in READERS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.data.readers import coco, corpus, flickr, folder, karpathy, posts
from tellapart.data.readers.source import ReaderOptions, Source
from tellapart.search import captioned_photos as index


@dataclass(frozen=True)
class Reader:
    recognise: Callable[[Path], bool]
    read: Callable[[Path, ReaderOptions], Source]
    form: str
    """What it reads, in a few words."""


READERS: dict[str, Reader] = {
    "index": Reader(index.recognise, index.read, "an index of photos whose captions people have mended"),
    "karpathy": Reader(karpathy.recognise, karpathy.read, "dataset_coco.json and its kin"),
    "coco": Reader(coco.recognise, coco.read, "captions_*.json, one file a split"),
    "flickr": Reader(flickr.recognise, flickr.read, "*.token.txt with split lists"),
    "posts": Reader(posts.recognise, posts.read, "insta-caption-*.json or posts.jsonl, one caption an image"),
    "folder": Reader(folder.recognise, folder.read, "images with a CSV, TSV or JSONL, or a .txt beside each"),
    "corpus": Reader(corpus.recognise, corpus.read, "sentences with no images, .txt or .txt.gz"),
}
"""Asked in this order; the first that recognises the source reads it."""


def recognise(source: Path) -> str:
    """The name of the reader for a source."""
    if not source.exists():
        raise InputError(f"{source} does not exist; check the path, or write `scenes` for the built-in data.")
    if source.is_dir() and not any(source.iterdir()):
        raise InputError(f"{source} is an empty folder; give one with images and captions.")
    for name, reader in READERS.items():
        if reader.recognise(source):
            return name
    known = "; ".join(f"{name}: {reader.form}" for name, reader in READERS.items())
    raise InputError(f"{source} is in no format known here ({known}). Name one with --format if it is.")
