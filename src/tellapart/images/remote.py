"""Photos at addresses such as s3://bucket/photos/dog.jpg, read by fsspec."""

from __future__ import annotations

import datetime
import importlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from tellapart.core.errors import InputError
from tellapart.images.formats import NEEDS, photo_suffixes
from tellapart.images.remote_reader import as_os_errors, buffered

KEPT_BYTES = 256 * 1024 * 1024
"""Of files that were hashed and will be decoded soon, so that they are fetched once."""
LOCAL = ("file://", "local://")
"""How addresses of files of this machine begin."""
TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")
"""Where file systems say when a file was changed."""


def is_address(path: object) -> bool:
    """Whether a path is an address with a protocol.

    >>> is_address("s3://bucket/photos"), is_address("/photos"), is_address("hf:clip")
    (True, False, False)
    """
    return "://" in str(path)


@dataclass(frozen=True)
class RemoteFile:
    """A file at an address, with what callers ask of a path."""

    address: str

    def __str__(self) -> str:
        return self.address

    @property
    def name(self) -> str:
        """The last part of the address."""
        return PurePosixPath(self.address).name

    @property
    def suffix(self) -> str:
        """The ending of the name: `.jpg`."""
        return PurePosixPath(self.address).suffix

    def read_bytes(self) -> bytes:
        """The bytes of the file; OSError if they cannot be read, and FileNotFoundError if there are none."""
        system = file_system(self.address)
        with as_os_errors():
            data: bytes = system.cat_file(self.address)
        return data

    def read_to_keep(self) -> bytes:
        """The bytes, remembered until `read_kept` asks for them or others take their place."""
        data = self.read_bytes()
        _KEPT.put(self.address, data)
        return data

    def read_kept(self) -> bytes:
        """The bytes of the last `read_to_keep`, or of now."""
        kept = _KEPT.take(self.address)
        return self.read_bytes() if kept is None else kept


@dataclass(frozen=True)
class ListedFile:
    """A photo in a list of files, with what the list says of it."""

    address: str
    size: int
    modified: int
    """In nanoseconds; 0 where the storage does not say."""


def file_system(address: str) -> Any:
    """The file system of an address; InputError if a package is missing, or if it cannot be opened.

    What stands before the first "://" is its protocol. fsspec itself would follow chains of addresses, so that the name
    of a file ("dog.jpg::file:///…") could lead to another one.
    """
    protocol = address.partition("://")[0]
    try:
        fsspec = importlib.import_module("fsspec")
        if not protocol:
            raise ValueError("no protocol before ://")
        kind = fsspec.get_filesystem_class(protocol)
        return fsspec.filesystem(protocol, **kind._get_kwargs_from_urls(address))
    except ImportError as error:
        raise InputError(
            f"{address} needs another package ({error}); run `pip install 'tellapart[remote]'`."
        ) from error
    except Exception as error:  # file systems raise anything for addresses that say too little
        raise InputError(f"{address} cannot be opened: {error}.") from error


def leads_out(address: str, folder: str) -> bool:
    """Whether a file of this machine at an address is not inside a folder, or links out of it; storage elsewhere has no
    links."""
    if not address.startswith(LOCAL):
        return False
    strip = file_system(address)._strip_protocol
    return not os.path.realpath(strip(address)).startswith(os.path.join(os.path.realpath(strip(folder)), ""))


def open_remote(address: str) -> BinaryIO:
    """A file at an address, opened to read its bytes piece by piece; OSError if it cannot be read."""
    system = file_system(address)
    with as_os_errors():
        return buffered(system.open(address, "rb"))


def files_at(address: str, depth: int) -> list[str]:
    """Addresses of all files under an address, so many folders deep; InputError if the storage does not answer."""
    system = file_system(address)
    system.invalidate_cache()
    try:
        return [str(system.unstrip_protocol(name)) for name in sorted(system.find(address, maxdepth=depth))]
    except Exception as error:
        raise InputError(f"{address} cannot be listed: {error}.") from error


def full_address(address: str) -> str:
    """An address as lists of files spell it, without a slash at the end."""
    system = file_system(address)
    return str(system.unstrip_protocol(system._strip_protocol(address))).rstrip("/")


def full_folder(folder: object) -> str:
    """A folder or an address as an index spells it: absolute, with links resolved."""
    return full_address(str(folder)) if is_address(folder) else str(Path(str(folder)).expanduser().resolve())


def is_remote_folder(address: str) -> bool:
    """Whether files lie under an address; InputError if the storage does not answer."""
    system = file_system(address)
    try:
        return bool(system.isdir(address))
    except Exception as error:
        raise InputError(f"{address} cannot be listed: {error}.") from error


def photos_at(address: str, on_missing: Callable[[RemoteFile], None] = lambda file: None) -> Iterator[ListedFile]:
    """All photos under an address by suffix, folder by folder, without hidden files and folders.

    on_missing: called for each file that an extra which is not installed would open.
    """
    suffixes = photo_suffixes()
    for system, folders, files in _folders_at(address):
        for name in [name for name in folders if name.startswith(".")]:
            del folders[name]
        for name, facts in sorted(files.items()):
            found = RemoteFile(str(system.unstrip_protocol(facts["name"])))
            if name.startswith("."):
                continue
            if found.suffix.lower() in suffixes:
                yield ListedFile(found.address, int(facts.get("size") or 0), _modified(facts))
            elif found.suffix.lower() in NEEDS:
                on_missing(found)


def _folders_at(address: str) -> Iterator[tuple[Any, dict[str, Any], dict[str, Any]]]:
    """The file system with the folders and the files in each folder under an address; the list of one folder is in
    memory at a time."""
    system = file_system(address)

    def fail(error: Exception) -> None:
        raise error

    system.invalidate_cache()  # another process may have written since
    try:
        for _, folders, files in system.walk(address, detail=True, on_error=fail):
            yield system, folders, files
            system.invalidate_cache()  # it would keep all lists
    except Exception as error:
        raise InputError(f"{address} cannot be listed: {error}.") from error


def _modified(facts: dict[str, Any]) -> int:
    """When a file was changed, in nanoseconds; a time without a zone is in UTC, and any other text says nothing.

    >>> _modified({"mtime": 1.5}), _modified({"updated": "1970-01-01T00:00:02Z"}), _modified({})
    (1500000000, 2000000000, 0)
    >>> _modified({"updated": "1970-01-01T00:00:02"}), _modified({"LastModified": "Thu, 01 Jan 1970 00:00:02 GMT"})
    (2000000000, 0)
    """
    value = next((facts[name] for name in TIMES if facts.get(name) is not None), 0)
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return 0
    if isinstance(value, datetime.datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=datetime.UTC)).timestamp()
    return round(float(value) * 1e9)


class _Kept:
    """Bytes of files, the oldest of which go first."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, bytes] = OrderedDict()
        self._size, self._lock = 0, threading.Lock()

    def put(self, address: str, data: bytes) -> None:
        with self._lock:
            self._size += len(data) - len(self._files.pop(address, b""))
            self._files[address] = data
            while self._size > KEPT_BYTES:
                self._size -= len(self._files.popitem(last=False)[1])

    def take(self, address: str) -> bytes | None:
        with self._lock:
            data = self._files.pop(address, None)
            self._size -= len(data or b"")
            return data


_KEPT = _Kept()
