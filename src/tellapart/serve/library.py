"""The photos of an index by id, and the only way to their files.

An id is the hash of a photo's bytes. It survives edits, moves and restarts, reveals nothing about the disk, and all
copies of a photo share it. Only files that the index lists are opened.
"""

from __future__ import annotations

import datetime
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.lru_cache import LRUCache
from tellapart.images.indexed_file import indexed_file
from tellapart.images.remote import RemoteFile, is_address
from tellapart.inference.known_images import KnownImages
from tellapart.runs.bundled import lasting_name
from tellapart.search.answer import Answer, answer
from tellapart.search.edit_history import Edit
from tellapart.search.embedders import embedder_of
from tellapart.search.filters import Filters
from tellapart.search.photo_index import PhotoIndex
from tellapart.search.protocol import NO_FILTERS, check_matcher
from tellapart.search.query import Found, Searcher, generated_caption, own_caption
from tellapart.search.table import FACTS
from tellapart.search.update_status import UpdateStatus, read_status
from tellapart.serve.choices import shown_folder
from tellapart.serve.fetched import FetchedPhotos
from tellapart.serve.newest import NewestPhotos

PHOTO_ID = r"^[0-9a-f]{32}$"
MAX_ROWS = 10_000
"""Rows that one search reads at most to find photos that are not copies of each other."""
CACHED_FILES = 10_000


class UnknownPhoto(InputError):
    """An id that the index does not contain, or a photo whose file no longer exists."""


class InvalidQuery(InputError):
    """A query that cannot be searched for."""


@dataclass(frozen=True)
class Photo:
    """A photo of the index."""

    id: str
    name: str
    folder: str
    """Relative to the folder that contains the indexed one."""
    caption: str | None
    """The edited caption if there is one, the generated caption otherwise."""
    edited: bool
    generated_caption: str | None
    taken: datetime.datetime | None
    width: int
    height: int
    camera: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    """Degrees, north and east positive."""
    sure: bool | None = None
    """Whether the generated caption is probably true; None for an edited one, and where it is unknown."""


class PhotoLibrary:
    """An index and its models. Safe to use from several threads."""

    def __init__(self, index: PhotoIndex) -> None:
        self.index, self.store, self.searcher = index, index.store, Searcher(index.store)
        self.embedder = embedder_of(index.matcher, index.captioner)
        check_matcher(self.store, self.embedder.fingerprint, lasting_name(index.matcher.run.folder))
        self._files: LRUCache[tuple[str, str]] = LRUCache(CACHED_FILES)
        self._fetched = FetchedPhotos()
        self._newest = NewestPhotos(index.store)
        self._write_lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.store)

    def search(self, query: str, without: str, count: int, filters: Filters, offset: int = 0) -> Answer:
        """Photos that match the words of a query, best first, without the first `offset`."""
        if not query.strip():
            raise InvalidQuery("`query` must contain at least one word.")
        try:
            asked = self.index.asked(query.strip(), without=without.strip())
            found = answer(self.searcher, asked, offset + count, filters)
        except InputError as error:
            raise InvalidQuery(str(error).replace(self.store.where, "of this server")) from error
        found = replace(found, photos=found.photos[offset:])
        self._remember(found.photos)
        return found

    def nearest(self, vector: np.ndarray, count: int, filters: Filters | None = None) -> list[Found]:
        """Photos nearest to a vector [E], best first, each once however many copies there are."""
        rows = 2 * count
        while True:
            found = self.searcher.nearest(vector, rows, filters)
            photos = list({one.content: one for one in reversed(found)}.values())[::-1][:count]
            if len(photos) == count or len(found) < rows or rows >= MAX_ROWS:
                break
            rows *= 4  # copies of one photo fill the result
        self._remember(photos)
        return photos

    def _remember(self, photos: Sequence[Found]) -> None:
        for photo in photos:
            self._files.put(photo.content, (photo.path, photo.folder))

    def folder(self, shown: str) -> str:
        """The folder that `Photo.folder` shows; InvalidQuery if no indexed folder has that name."""
        if not shown:
            return ""
        inside = PurePath(shown)
        for root in self.store.folders():
            name = PurePath(root).name
            if inside.parts[:1] == (name,) and ".." not in inside.parts:
                return root.removesuffix(name) + (inside.as_posix() if is_address(root) else str(inside))
        raise InvalidQuery(f"`folder` must start with the name of an indexed folder, not '{shown}'.")

    def similar(self, photo_id: str, count: int, offset: int = 0) -> list[Found]:
        """Photos of the index most similar to one of them, best first, without itself and the first `offset`."""
        vector = self._rows(photo_id, ["path", "vector"])[0]["vector"]
        found = [one for one in self.nearest(vector, offset + count + 1) if one.content != photo_id]
        return found[offset : offset + count]

    def vectors(self, photo_ids: Sequence[str]) -> np.ndarray:
        """The vectors of photos of the index [N, E], in the given order."""
        found = {
            row["content"]: row["vector"] for row in self.store.having("content", photo_ids, ["content", "vector"])
        }
        return np.asarray([found[photo_id] for photo_id in photo_ids], np.float32).reshape(-1, self.embedder.width)

    def known(self, photos: Sequence[Found]) -> KnownImages:
        """Photos of the index with their vectors and where their files are."""
        paths, folders, contents = ([getattr(one, name) for one in photos] for name in ("path", "folder", "content"))
        return KnownImages(paths, self.vectors(contents), self.embedder.fingerprint, folders, contents)

    def newest(self, count: int, offset: int = 0, filters: Filters | None = None) -> list[Photo]:
        """The photos taken last, newest first; photos without a date follow by the date of their file."""
        ids = self._newest.ids(count, offset, filters or NO_FILTERS)
        rows = sorted(self.store.having("content", ids, FACTS), key=lambda row: row["path"], reverse=True)
        photos = {row["content"]: row for row in rows}  # of copies, the first by path
        return [_photo(photos[id_]) for id_ in ids if id_ in photos]

    def photo(self, photo_id: str) -> Photo:
        """All that the index knows about a photo."""
        return _photo(self._rows(photo_id)[0])

    def file(self, photo_id: str) -> Path:
        """The file of a photo: the first copy that exists inside the indexed folder."""
        cached = self._files.get(photo_id)
        file = self._file(*cached, photo_id) if cached else None
        if file is not None:
            return file
        for row in self._rows(photo_id):
            file = self._file(row["path"], row["folder"], photo_id)
            if file is not None:
                self._files.put(photo_id, (row["path"], row["folder"]))
                return file
        raise UnknownPhoto(f"The file of photo {photo_id} no longer exists; update the index.")

    def _file(self, path: str, folder: str, photo_id: str) -> Path | None:
        file = indexed_file(path, folder)
        return self._fetched.file(file.address, photo_id) if isinstance(file, RemoteFile) else file

    def history(self, photo_id: str) -> list[Edit]:
        """The captions that people saved for a photo, oldest first."""
        return self.store.history(photo_id, [row["path"] for row in self._rows(photo_id)])

    def indexed(self) -> datetime.datetime | None:
        """When the photos were indexed last, in UTC; for an index of an earlier version, when it changed last."""
        status = self.update_status()
        return status.ended_at if status is not None else self.store.changed

    def update_status(self) -> UpdateStatus | None:
        """The update that is running, or the last one; None if no update has left its status."""
        return read_status(self.store.where)

    def edit_caption(self, photo_id: str, caption: str | None) -> Photo:
        """Store a caption for every copy of a photo; None restores the generated caption."""
        self.photo(photo_id)  # raises for an unknown id
        with self._write_lock:
            self.store.edit_copies(photo_id, caption)
        return self.photo(photo_id)

    def _rows(self, photo_id: str, columns: Sequence[str] = FACTS) -> list[dict[str, Any]]:
        if not re.fullmatch(PHOTO_ID, photo_id):
            raise UnknownPhoto("The id of a photo has 32 hexadecimal digits.")
        rows = sorted(self.store.having("content", [photo_id], columns), key=lambda row: row["path"])
        if not rows:
            raise UnknownPhoto(f"The index has no photo {photo_id}.")
        return rows


def _photo(row: dict[str, Any]) -> Photo:
    return Photo(
        id=row["content"],
        name=PurePath(row["path"]).name,
        folder=shown_folder(row["path"], row["folder"]),
        caption=own_caption(row) or generated_caption(row),
        edited=bool(row["edited"]),
        generated_caption=generated_caption(row),
        taken=row["taken"],
        width=row["width"],
        height=row["height"],
        camera=row.get("camera") or None,
        latitude=row.get("latitude"),
        longitude=row.get("longitude"),
        sure=None if own_caption(row) else row.get("sure"),
    )
