"""The readers by name, and which of them reads a source. A new format is one file here and one line in READERS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.data.readers import coco, corpus, flickr, folder, karpathy, parts, posts
from tellapart.data.readers.source import ReaderOptions, Source


@dataclass(frozen=True)
class Reader:
    """Two functions and a description: whether a source has this format, and what it holds."""

    recognise: Callable[[Path], bool]
    read: Callable[[Path, ReaderOptions], Source]
    description: str
    """The files it reads, in a few words."""


READERS: dict[str, Reader] = {
    "karpathy": Reader(karpathy.recognise, karpathy.read, "dataset_coco.json or another Karpathy split"),
    "coco": Reader(coco.recognise, coco.read, "captions_*.json, one file per split"),
    "flickr": Reader(flickr.recognise, flickr.read, "*.token.txt with split lists"),
    "posts": Reader(posts.recognise, posts.read, "insta-caption-*.json or posts.jsonl, one caption per image"),
    "parts": Reader(parts.recognise, parts.read, "captions.json next to folders of stored pixels"),
    "folder": Reader(folder.recognise, folder.read, "images with a CSV, TSV or JSONL, or with one .txt each"),
    "corpus": Reader(corpus.recognise, corpus.read, "sentences without images, .txt or .txt.gz"),
}
"""Tried in this order: the first that recognises a source reads it."""


def recognise(source: Path, readers: Mapping[str, Reader] = READERS) -> str:
    """The name of the reader for a source."""
    if not source.exists():
        raise InputError(f"{source} does not exist; check the path, or write `scenes` for the built-in data.")
    if source.is_dir() and not any(source.iterdir()):
        raise InputError(f"{source} is an empty folder; give one with images and captions.")
    for name, reader in readers.items():
        if reader.recognise(source):
            return name
    known = "; ".join(f"{name}: {reader.description}" for name, reader in readers.items())
    raise InputError(f"{source} is in no known format ({known}). If it is in one of these, name the format.")
