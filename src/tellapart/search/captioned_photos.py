"""A reader of an index of photos: those whose captions people wrote or edited, to learn from.

Generated captions are not read: learning them again would teach nothing. The id of an image is the hash of its bytes,
so that copies are one image and a moved photo stays in its split. Photos at addresses are fetched into a folder.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError, Step
from tellapart.core.files import atomic_path
from tellapart.data.readers import Reader
from tellapart.data.readers.source import ReaderOptions, Source, SourceCaption, SourceImage
from tellapart.images.remote import RemoteFile, is_address
from tellapart.search.location import is_index

COLUMNS = ("path", "folder", "content", "edited")
CONTENT = "[0-9a-f]{32}"
"""The hash of the bytes of a photo."""
FETCHING = 16
"""Photos that are fetched at once."""


def recognise(source: Path) -> bool:
    """Whether a folder is an index."""
    return is_index(str(source))


def read(source: Path, options: ReaderOptions) -> Source:
    """The photos of an index with the captions that people wrote."""
    # Imported here because recognising a source does not need it.
    from tellapart.search.store import open_store

    store = open_store(str(source))
    rows = list(store.rows(COLUMNS, edited=not options.keep_uncaptioned))
    if not any(row["edited"] for row in rows):
        raise InputError(
            f"Nobody has written a caption in the index {source} yet; edit some on its page first.",
            Step("serve", source),
        )
    copies: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["path"]):
        copies.setdefault(row["content"], []).append(row)
    with ThreadPoolExecutor(FETCHING) as pool:
        files = list(pool.map(lambda same: _file(same, options.fetched), copies.values()))
    root = _root([row["folder"] for row in rows], options.fetched)
    result = Source(name=source.resolve().name, root=Path(root), by_path=True)
    for (content, same), found in zip(copies.items(), files, strict=True):
        if found is None:
            reason = "it is gone or changed, or links out of its folder; update the index"
            result.skip("missing image", same[0]["path"], str(source), reason)
            continue
        where, file = found
        result.images.append(SourceImage(content, os.path.relpath(file, root), where=where))
        for text in dict.fromkeys(row["edited"] for row in same if row["edited"]):
            result.captions.append(SourceCaption(content, text, where))
    _skip_others(result, len(store) - len(rows), source)
    return result


def _file(copies: list[dict[str, Any]], fetched: Path | None) -> tuple[str, Path] | None:
    """Path or address, and the file, of the first copy of a photo that is there; one at an address is fetched."""
    from tellapart.images.indexed_file import indexed_file

    for row in copies:
        here = indexed_file(row["path"], row["folder"])
        if isinstance(here, Path):
            return row["path"], Path(row["path"])
        if here is not None and fetched is not None and (file := _fetch(here, row["content"], fetched)):
            return row["path"], file
    return None


def _fetch(remote: RemoteFile, content: str, folder: Path) -> Path | None:
    """A file with the bytes at an address, fetched once; None if they do not have this hash, or if it is none: an index
    of others must not choose which file of this machine is read."""
    from tellapart.images.opening import UnreadableImage
    from tellapart.images.verified_file import VerifiedFile

    if not re.fullmatch(CONTENT, content):
        return None
    file = folder.absolute() / f"{content}{remote.suffix.lower()}"
    if file.is_file():
        return file
    try:
        data = VerifiedFile(remote, content).read()
    except UnreadableImage:
        return None
    except OSError as error:  # a server that does not answer says nothing about the photo
        raise InputError(f"{remote} cannot be read: {error.strerror or error}; try again.") from error
    with atomic_path(file) as partial:
        partial.write_bytes(data.getvalue())
    return file


def _root(folders: list[str], fetched: Path | None) -> str:
    """The folder around all photos: around the indexed folders, with that of fetched photos for those at addresses."""
    return os.path.commonpath({str((fetched or Path()).absolute()) if is_address(one) else one for one in folders})


def _skip_others(result: Source, others: int, source: Path) -> None:
    """One entry for all: an index may hold a million photos without a written caption."""
    if others:
        reason = "they have generated captions only; edit captions on the page of the index"
        result.skip("image without caption", f"{others:,} photos", str(source), reason)


READER = Reader(recognise, read, "an index of photos with captions that people wrote")
