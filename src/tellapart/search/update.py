"""Bringing an index up to date with folders of photos: new, changed, moved, copied and deleted files.

The folders are walked once. Files with unchanged size and time are not opened. The others are processed in chunks, each
visible in one transaction: a process killed at any moment leaves a consistent index, and the next update continues
after the last chunk. A file whose bytes are in the index, under this or another name, is not encoded again: its vector
and captions are copied.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.file_lock import lock
from tellapart.core.paths import OnePath
from tellapart.images.remote import full_folder, is_address, is_remote_folder
from tellapart.search.changes import Changes
from tellapart.search.examined import Engine, Photo
from tellapart.search.known import Known, read_known
from tellapart.search.protocol import Store
from tellapart.search.rows import write_chunk
from tellapart.search.update_status import reported
from tellapart.search.walk import Unreadable, changed_photos, holds_photos

COMPACT_EVERY = 64
"""Chunks."""
CHANGING_ATTEMPTS = 3
"""How often a file that changes while it is read is read again."""


def update_index(
    store: Store,
    folders: Sequence[OnePath],
    engine_for: Callable[[np.ndarray], Engine],
    chunk: int = 256,
    forget: bool = False,
    advance: Callable[[int], None] = lambda photos: None,
    *,
    verify: bool = False,
    total: int | None = None,
) -> Changes:
    """Make the index hold exactly the photos of the folders. `engine_for` takes the hashes of the known contents.

    verify: encode unchanged photos too, and replace vectors that are not those of their files.
    total: number of photos in the folders, for the status that other processes read.
    """
    roots = checked_roots(folders)
    changes = Changes()
    with only_writer(store.where), reported(store.where, total) as status:

        def finish(photos: int) -> None:
            status.advance(photos)
            advance(photos)

        known, unreadable = read_known(store), Unreadable()
        if verify:
            known.doubt_all()
        chunks = changed_photos(roots, known, unreadable, changes, chunk, finish)
        for count, examined in enumerate(engine_for(known.contents)(chunks), 1):
            again = write_chunk(store, known, examined, changes, verify)
            _write_again(store, known, again, engine_for, changes)
            store.sync()
            finish(len(examined))
            if count % COMPACT_EVERY == 0:
                store.compact()
        changes.faults += unreadable.faults
        changes.missing_extras = dict(sorted(unreadable.extras.items()))
        gone = [path for path in known.gone(store, roots) if not unreadable.hides(path)]
        _check_emptied(store, roots, gone, forget)
        store.delete(gone)
        store.sync()
        changes.deleted = len(gone)
        store.finish()
        if changes.added or changes.changed or changes.carried or changes.completed or changes.deleted or verify:
            store.compact()
        status.end(len(changes.faults))
    return changes


def _write_again(
    store: Store,
    known: Known,
    photos: list[Photo],
    engine_for: Callable[[np.ndarray], Engine],
    changes: Changes,
) -> None:
    """Encode photos whose file changed while it was read, or whose known bytes are gone; the next update gets those
    that keep changing."""
    for _ in range(CHANGING_ATTEMPTS):
        if not photos:
            return
        again = engine_for(np.zeros(0, np.uint64))(iter([photos]))
        photos = write_chunk(store, known, [one for some in again for one in some], changes)
    changes.faults += [f"{photo.path} keeps changing; index it again when it is complete" for photo in photos]


def checked_roots(folders: Sequence[OnePath]) -> list[str]:
    """The folders with links resolved, and addresses as lists of files spell them; raises if one of them is none."""
    if not folders:
        raise InputError("Give at least one folder of photos.")
    roots = [full_folder(folder) for folder in folders]
    for root in roots:
        if not (is_remote_folder(root) if is_address(root) else os.path.isdir(root)):
            raise InputError(f"{root} is not a folder; give a folder of photos.")
    return roots


def _check_emptied(store: Store, roots: Sequence[str], gone: Sequence[str], forget: bool) -> None:
    """Raise if a folder lost every photo: more likely its disk is not mounted."""
    if forget or not gone:
        return
    for root in roots:
        if any(path.startswith(root + os.sep) for path in gone) and not holds_photos(root):
            raise InputError(
                f"{root} holds no photos now, but the index {store.where} has photos of it. If its disk is not "
                "mounted, mount it. To remove the photos from the index, use `forget=True`."
            )


@contextlib.contextmanager
def only_writer(where: str) -> Iterator[None]:
    """Raise if another process updates the index. On object storage, LanceDB's transactions have to do."""
    if "://" in where:
        yield
        return
    with (Path(where) / ".lock").open("w") as guard:
        try:
            lock(guard)
        except OSError as error:
            raise InputError(f"Another process is updating the index {where}; wait for it.") from error
        yield
