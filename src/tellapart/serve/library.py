"""The index as the page sees it: images have ids, and only the files behind the index's own rows are ever opened.

An id is the hash of an image's bytes. It outlives edits, moves and restarts, says nothing about the disk, and copies
of one image are one image.
"""

from __future__ import annotations

import datetime
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.search.ann import as_matrix
from tellapart.search.embedder import Embedder
from tellapart.search.query import Filters, Found, Searcher, combined
from tellapart.search.store import FACTS, Store, inside
from tellapart.serve.recent import Recent

IDENTITY = r"^[0-9a-f]{32}$"
MOST_ASKED = 10_000
"""Rows looked through for images that are no copies of each other."""
REMEMBERED = 10_000
"""Files of images that were shown last, so that small images need no second look into the table."""


class UnknownPhoto(InputError):
    """An id that no row of the index has."""


class BadQuestion(InputError):
    """Words that cannot be searched for."""


@dataclass(frozen=True)
class Row:
    """What the index knows of an image."""

    identity: str
    name: str
    caption: str | None
    edited: bool
    written: str | None
    """The captioner's words."""
    taken: datetime.datetime | None
    width: int
    height: int


class Library:
    """An index and the matcher that asks it. Safe to use from several threads."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self.store, self.embedder, self.searcher = store, embedder, Searcher(store)
        self._files: Recent[tuple[str, str]] = Recent(REMEMBERED)
        self._writing = threading.Lock()

    def search(self, words: str, without: str, count: int, filters: Filters) -> list[Found]:
        try:
            unsaid = [*self.embedder.words([without])] if without.strip() else []
            said = [*self.embedder.words([words])] if words.strip() else []
            query = combined(said, unsaid)
        except InputError as error:
            raise BadQuestion(str(error)) from error
        return self.nearest(query, count, filters)

    def nearest(self, vector: np.ndarray, count: int, filters: Filters | None = None) -> list[Found]:
        """Each image once, however many copies there are."""
        asked = 2 * count
        while True:
            found = self.searcher.nearest(vector, asked, filters)
            once = list({one.content: one for one in reversed(found)}.values())[::-1][:count]
            if len(once) == count or len(found) < asked or asked >= MOST_ASKED:
                break
            asked *= 4  # one image has so many copies that they hid the others
        for one in once:
            self._files.put(one.content, (one.path, one.folder))
        return once

    def similar(self, identity: str, count: int) -> list[Found]:
        """The images most like one of the index, itself left out."""
        batches = self.store.batches(["vector"], self._condition(identity))
        matrix = next((as_matrix(batch["vector"], self.store.about.width) for batch in batches if len(batch)), None)
        if matrix is None:
            raise UnknownPhoto(f"There is no image {identity} in the index.")
        return [one for one in self.nearest(matrix[0], count + 1) if one.content != identity][:count]

    def row(self, identity: str) -> Row:
        facts = self._rows(identity)[0]
        return Row(
            identity,
            Path(facts["path"]).name,
            facts["edited"] or facts["caption"],
            bool(facts["edited"]),
            facts["caption"],
            facts["taken"],
            facts["width"],
            facts["height"],
        )

    def file(self, identity: str) -> Path:
        """The file of an image: a copy that is still there, inside the folder that was indexed."""
        known = self._files.get(identity)
        file = inside(*known) if known else None
        if file is not None:
            return file
        for facts in self._rows(identity):
            file = inside(facts["path"], facts["folder"])
            if file is not None:
                self._files.put(identity, (facts["path"], facts["folder"]))
                return file
        raise UnknownPhoto(f"The file of image {identity} is gone; run `tellapart index` again.")

    def edit(self, identity: str, words: str | None) -> Row:
        """A person's caption for every copy of an image; None goes back to the captioner's."""
        self.row(identity)  # an id that is not known is refused
        with self._writing:
            self.store.edit_copies(identity, words)
        return self.row(identity)

    def _rows(self, identity: str) -> list[dict[str, Any]]:
        batches = self.store.batches(FACTS, self._condition(identity))
        rows = sorted((row for batch in batches for row in batch.to_pylist()), key=lambda row: row["path"])
        if not rows:
            raise UnknownPhoto(f"There is no image {identity} in the index.")
        return rows

    def _condition(self, identity: str) -> str:
        if not re.fullmatch(IDENTITY, identity):
            raise UnknownPhoto("An image's id is 32 hexadecimal digits.")
        return f"content = '{identity}'"
