"""Tables of images and captions (CSV, TSV, JSONL; open_clip's among them) read row by row, for millions of rows."""

from __future__ import annotations

import errno
import io
from array import array
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import blake2b
from itertools import groupby, islice
from pathlib import Path, PurePosixPath

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.readers.folder import TABLES, Row, csv_rows, json_rows, split_value
from tellapart.data.readers.source import ReaderOptions, Source
from tellapart.data.unpack_shards import Sample
from tellapart.images.remote import RemoteFile, is_address, open_remote

READ_AT_ONCE = 16
"""Images that are fetched at once where they are at addresses."""
TOGETHER = 2 * READ_AT_ONCE
"""Samples whose images are in memory."""
STORAGE = frozenset(("http", "https", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "hf", "oci", "oss"))
"""Protocols of addresses that rows may name, besides that of their table: a table of others must not read what this
machine alone can read."""
NO_FILE = (errno.ENAMETOOLONG, errno.ELOOP)


def is_table(source: str) -> bool:
    """Whether a path or address names a table of captions."""
    return PurePosixPath(source).suffix.lower() in TABLES


def table_samples(source: str, options: ReaderOptions) -> Iterator[Sample]:
    """The samples of a table; rows of one image follow each other. Broken rows and missing images are samples with a
    fault, which count as left out."""
    root = str(options.images or source.rpartition("/")[0] or ".")
    notes = Source(name=source, root=Path(root))
    seen = array("Q")
    with _lines(source, options.encoding) as lines:
        found = _by_image(_rows(source, lines, options, notes), notes, seen)
        while some := list(islice(found, TOGETHER)):
            yield from _with_images(some, root)
    _check_grouped(source, seen)
    yield from _faults(notes)


def _rows(source: str, lines: Iterable[str], options: ReaderOptions, notes: Source) -> Iterator[Row]:
    path = Path(source)
    return (json_rows if path.suffix.lower() == ".jsonl" else csv_rows)(path, lines, options, notes)


@contextmanager
def _lines(source: str, encoding: str) -> Iterator[Iterator[str]]:
    encoding = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    try:
        with open_remote(source) if is_address(source) else open(source, "rb") as file:
            yield io.TextIOWrapper(file, encoding, newline="")
    except FileNotFoundError as error:
        raise InputError(f"{source} does not exist; check the path.") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source} is not {encoding.removesuffix('-sig')} text; save it as UTF-8 or give its encoding, for example "
            "`encoding='latin-1'`."
        ) from error
    except LookupError as error:
        raise InputError(f"Unknown encoding '{encoding}'; try utf-8, latin-1 or utf-16.") from error
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror or error}.") from error


def _by_image(rows: Iterator[Row], notes: Source, seen: array[int]) -> Iterator[tuple[str, Sample]]:
    """The name and the captions of each image, and the faults of rows before it."""
    for name, group in groupby(rows, key=lambda row: row[1]):
        together = list(group)
        yield from (("", sample) for sample in _faults(notes))
        seen.append(int.from_bytes(blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), "little"))
        captions = tuple(text.strip() for row in together for text in row[2] if text.strip())
        split = together[0][3]
        yield name, Sample(b"", captions, None if split is None else split_value(split))


def _faults(notes: Source) -> Iterator[Sample]:
    faults, notes.skipped = notes.skipped, []
    return (Sample(b"", (), None, one.kind) for one in faults)


def _with_images(some: list[tuple[str, Sample]], root: str) -> Iterator[Sample]:
    """The samples with the bytes of their images, which are read now."""
    if not is_address(root) and not any(is_address(name) for name, _ in some):
        yield from (_with_image(root, name, sample) for name, sample in some)
        return
    with ThreadPoolExecutor(READ_AT_ONCE) as pool:
        yield from pool.map(lambda one: _with_image(root, *one), some)


def _with_image(root: str, name: str, sample: Sample) -> Sample:
    if sample.fault:
        return sample
    if _is_outside(name, root):
        return Sample(b"", (), None, "file outside the folder")
    file: Path | RemoteFile = Path(root) / name
    if is_address(name) or is_address(root):
        file = RemoteFile(name if is_address(name) else f"{root.rstrip('/')}/{name}")
    missing = Sample(b"", (), None, "missing file")
    try:
        return Sample(file.read_bytes(), sample.captions, sample.split)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, ValueError):  # ValueError: NUL in its name
        return missing
    except OSError as error:
        if error.errno in NO_FILE:
            return missing
        raise InputError(f"{file} cannot be read: {error.strerror or error}.") from error


def _is_outside(name: str, root: str) -> bool:
    """Whether a name leads out of the folder of its table. Full paths are no such names: tables of one's own have them.

    >>> [_is_outside(name, "photos") for name in ("a.png", "../a.png", "file:///a.png", "https://site/a.png")]
    [False, True, True, False]
    """
    if not is_address(name):
        return ".." in PurePosixPath(name).parts
    own = root.partition("://")[0] if is_address(root) else ""
    return name.partition("://")[0] not in STORAGE | {own}


def _check_grouped(source: str, seen: array[int]) -> None:
    """Raise if an image has rows in several places: its captions would belong to several images."""
    again = len(seen) - len(np.unique(np.frombuffer(seen, np.uint64))) if seen else 0
    if again:
        raise InputError(
            f"{source}: {again:,} images have rows in several places; sort the table by image, so that the captions of "
            "an image follow each other."
        )
