"""Images and captions inside shards, unpacked into a folder that `prepare` reads, one sample in memory at a time.

WebDataset's tar files and those of img2dataset (`0001.jpg`, `0001.txt`, `0001.json`), and the parquet and arrow files
of Hugging Face datasets (a column of image bytes, a column of one or several captions).
"""

from __future__ import annotations

import importlib
import json
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from tellapart.core.errors import Error, InputError
from tellapart.core.files import atomic_folder
from tellapart.data.readers.folder import CAPTION_COLUMNS, SPLIT_VALUES, split_value
from tellapart.images.remote import RemoteFile, files_at, full_address, open_remote

SUFFIXES = (".tar", ".parquet", ".arrow")
IMAGE_COLUMNS = ("image", "jpg", "jpeg", "png", "webp", "img", "picture", "photo", "image_bytes", "bytes")
TEXTS = ("txt", "caption", "text")
SPLITS = ("train", "val", "test")
MAGIC = {b"\xff\xd8\xff": ".jpg", b"\x89PNG": ".png", b"GIF8": ".gif", b"BM": ".bmp", b"II*\x00": ".tiff",
         b"MM\x00*": ".tiff"}  # fmt: skip
PER_FOLDER = 10_000
ROWS_AT_ONCE = 16


@dataclass(frozen=True)
class Sample:
    """One image with its captions."""

    image: bytes
    captions: tuple[str, ...]
    split: str | None
    fault: str = ""
    """Why it is left out, if its source says so."""


Shard = Path | RemoteFile


def shards_at(address: str) -> list[Shard]:
    """The shards at an address: itself, or files under it and one folder below."""
    if PurePosixPath(address).suffix.lower() in SUFFIXES:
        return [RemoteFile(full_address(address))]
    found = (RemoteFile(name) for name in files_at(address, depth=2))
    return [file for file in found if file.suffix.lower() in SUFFIXES and not file.name.startswith("cache-")]


def shards_in(source: Path) -> Sequence[Shard]:
    """The shards of a source: itself, or files in the folder and one folder below; a caption table has none."""
    if source.is_file():
        return [source] if source.suffix.lower() in SUFFIXES else []
    if not source.is_dir():
        return []
    found = [path for pattern in ("*", "*/*") for path in source.glob(pattern) if path.suffix.lower() in SUFFIXES]
    return sorted(path for path in found if path.is_file() and not path.name.startswith("cache-") and _has_images(path))


def _has_images(shard: Path) -> bool:
    """Whether a parquet file may hold images: img2dataset writes tables of addresses next to its images."""
    if shard.suffix.lower() != ".parquet":
        return True
    try:
        parquet = importlib.import_module("pyarrow.parquet")
        return bool(set(parquet.read_schema(shard).names) & set(IMAGE_COLUMNS))
    except (ImportError, OSError, ValueError):
        return True  # reading it says what is wrong


def samples_of(shards: Sequence[Shard]) -> Iterator[Sample]:
    """The samples of shards, one after the other."""
    for shard in shards:
        yield from _samples(shard)


def unpack(samples: Iterable[Sample], source: str, folder: Path) -> Path:
    """Write images and captions.jsonl into a folder, which is replaced when it is complete.

    Samples without an image or a caption are written as far as they go: the reader of the folder reports them.
    """
    count = number = 0
    with atomic_folder(folder) as partial, (partial / "captions.jsonl").open("w", encoding="utf-8") as table:
        for sample in samples:
            suffix = suffix_of(sample.image)
            name = unpacked_name(number, suffix)
            number += 1
            if suffix:
                (partial / name).parent.mkdir(exist_ok=True)
                (partial / name).write_bytes(sample.image)
            if not sample.captions:
                continue
            row: dict[str, Any] = {"image": name, "caption": list(sample.captions)}
            table.write(json.dumps(row | ({"split": sample.split} if sample.split else {}), ensure_ascii=False) + "\n")
            count += bool(suffix)
        if not count:
            raise InputError(
                f"{source} has no image with a caption: of its {number} samples, none has both an image (its bytes or "
                "a path) and a text."
            )
    return folder


def unpacked_name(number: int, suffix: str) -> str:
    """The file of a sample's image, a few thousand per folder.

    >>> unpacked_name(12345, ".jpg")
    '00001/000012345.jpg'
    """
    return f"{number // PER_FOLDER:05d}/{number:09d}{suffix}"


def suffix_of(image: bytes) -> str:
    """The suffix of an image file by its first bytes; empty for anything else."""
    if image[:4] == b"RIFF" and image[8:12] == b"WEBP":
        return ".webp"
    return next((suffix for start, suffix in MAGIC.items() if image.startswith(start)), "")


def split_of(shard: Path | RemoteFile) -> str | None:
    """The split that a shard's name or folder states, as in train-00000-of-00004.parquet.

    >>> split_of(Path("data/validation-00000-of-00001.parquet")), split_of(Path("laion/00000.tar"))
    ('val', None)
    """
    path = PurePosixPath(str(shard))
    for name in (path.name.split(".")[0].split("-")[0].lower(), path.parent.name.lower()):
        found = SPLIT_VALUES.get(name, name)
        if name and found in SPLITS:
            return found
    return None


def _samples(shard: Shard) -> Iterator[Sample]:
    try:
        if shard.suffix.lower() == ".tar":
            yield from _tar_samples(shard)
        else:
            yield from _table_samples(shard)
    except (Error, MemoryError):
        raise
    except Exception as error:  # libraries raise almost anything for broken files
        raise InputError(f"{shard} cannot be read ({error}); download it again.") from error


def _opened(shard: Shard) -> BinaryIO:
    return open_remote(shard.address) if isinstance(shard, RemoteFile) else shard.open("rb")


def _tar_samples(shard: Shard) -> Iterator[Sample]:
    """Files whose names agree up to the first dot are one sample; a tar file has them one after the other."""
    key, parts = "", dict[str, bytes]()
    with _opened(shard) as file, tarfile.open(fileobj=file, mode="r|*") as tar:
        for member in tar:
            if not member.isfile():
                continue
            path = PurePosixPath(member.name)
            first, _, kind = path.name.partition(".")
            name = str(path.with_name(first))
            if name != key and parts:
                yield _sample(parts, split_of(shard))
                parts = {}
            key = name
            part = tar.extractfile(member)
            parts[kind.lower()] = b"" if part is None else part.read()
    if parts:
        yield _sample(parts, split_of(shard))


def _sample(parts: Mapping[str, bytes], split: str | None) -> Sample:
    image = next((value for value in parts.values() if suffix_of(value)), b"")
    texts = [parts[kind].decode("utf-8", "replace") for kind in TEXTS if kind in parts]
    if not texts and "json" in parts:
        try:
            found = json.loads(parts["json"])
        except (ValueError, RecursionError):
            found = {}
        texts = list(_texts(found)) if isinstance(found, dict) else []
    return Sample(image, tuple(line.strip() for text in texts for line in text.splitlines() if line.strip()), split)


def _texts(row: Mapping[str, Any]) -> Iterator[str]:
    """The captions of a row: the first usual column that has any."""
    for name in CAPTION_COLUMNS:
        value = row.get(name)
        found = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        raw = [one.get("raw") if isinstance(one, dict) else one for one in found]
        texts = [text for text in raw if isinstance(text, str) and text.strip()]
        if texts:
            yield from texts
            return


def sample_of(row: Mapping[str, Any], split: str | None, folder: Path | None = None) -> Sample:
    """A row of a table as a sample; a column `split` counts more than the table's own.

    folder: where the table is, for images that it names by a path instead of holding their bytes.
    """
    own = row.get("split")
    captions = tuple(text.strip() for text in _texts(row))
    return Sample(_image(row, folder), captions, split if own in (None, "") else split_value(str(own)))


def _table_samples(shard: Shard) -> Iterator[Sample]:
    for batch in _batches(shard):
        for row in batch.to_pylist():
            yield sample_of(row, split_of(shard), shard.parent if isinstance(shard, Path) else None)


def _batches(shard: Shard) -> Iterator[Any]:
    try:
        if shard.suffix.lower() == ".parquet":
            parquet = importlib.import_module("pyarrow.parquet")
            with _opened(shard) as file:
                yield from parquet.ParquetFile(file).iter_batches(ROWS_AT_ONCE)
            return
        arrow = importlib.import_module("pyarrow")
    except ImportError as error:
        raise InputError(f"{shard.suffix} files need pyarrow; run `pip install pyarrow`.") from error
    with _opened(shard) if isinstance(shard, RemoteFile) else arrow.memory_map(str(shard)) as file:
        for batch in importlib.import_module("pyarrow.ipc").open_stream(file):
            yield from (batch.slice(first, ROWS_AT_ONCE) for first in range(0, len(batch), ROWS_AT_ONCE))


def _image(row: Mapping[str, Any], folder: Path | None) -> bytes:
    """The bytes of a row's image: a column of bytes, or of `{"bytes", "path"}`, of which datasets may write the path
    alone."""
    for name in IMAGE_COLUMNS:
        value, path = row.get(name), None
        if isinstance(value, Mapping):
            path, value = value.get("path"), value.get("bytes")
        if isinstance(value, bytes):
            return value
        if folder is not None and isinstance(path, str) and path and (folder / path).is_file():
            return (folder / path).read_bytes()
    return b""
