"""What the filters of the page offer: folders, cameras and dates of the photos of an index."""

from __future__ import annotations

import datetime
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePath

from tellapart.search.protocol import Store

COLUMNS = ("path", "folder", "taken", "camera", "latitude")
MOST = 200


@dataclass(frozen=True)
class Choices:
    """Values that some photo has."""

    folders: list[str] = field(default_factory=list)
    """As the page shows them, the largest 200 in alphabetical order."""
    cameras: list[str] = field(default_factory=list)
    first: datetime.date | None = None
    last: datetime.date | None = None
    places: bool = False
    """Whether some photo has coordinates."""


class FilterChoices:
    """The choices of an index, read again when it has changed. Safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._version, self._choices = -1, Choices()
        self._lock = threading.Lock()

    def current(self) -> Choices:
        """The choices of the newest version."""
        with self._lock:  # one thread reads the table while the others wait
            version = self.store.photos_version
            if self._version != version:
                self._choices, self._version = _read(self.store), version
            return self._choices


def _read(store: Store) -> Choices:
    folders: Counter[str] = Counter()
    cameras: Counter[str] = Counter()
    days: set[datetime.date] = set()
    places = False
    for row in store.rows(COLUMNS):
        folders[shown_folder(row["path"], row["folder"])] += 1
        if row.get("camera"):
            cameras[row["camera"]] += 1
        if row["taken"]:
            days.add(row["taken"].date())
        places = places or row.get("latitude") is not None
    return Choices(_commonest(folders), _commonest(cameras), min(days, default=None), max(days, default=None), places)


def _commonest(counts: Counter[str]) -> list[str]:
    return sorted(name for name, _ in counts.most_common(MOST))


def shown_folder(path: str, indexed: str) -> str:
    """The folder of a photo, starting with the name of the indexed folder.

    >>> shown_folder("/home/ada/Photos/2019/dog.jpg", "/home/ada/Photos")
    'Photos/2019'
    """
    parent, root = PurePath(path).parent, PurePath(indexed)
    return parent.relative_to(root.parent).as_posix() if parent.is_relative_to(root) else PurePath().as_posix()
