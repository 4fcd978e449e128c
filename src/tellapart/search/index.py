"""Bringing an index up to date with folders of photos: new, changed, moved, copied and deleted files.

The folders are walked once. What size and time of change say is unchanged is not opened. The rest is taken in chunks;
each chunk becomes visible in one transaction, so a process killed at any moment leaves an index that is whole, and the
next run goes on behind the last chunk. A file whose bytes the index has already, under this or another name, is not
looked at again: vector and captions are carried over.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.images.folders import images_in
from tellapart.search.examined import Engine, Examined, Photo
from tellapart.search.known import Known, read_known
from tellapart.search.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

WALKED = 4096
"""Files whose size and time are compared in one go."""
FIRST_CHUNK = 32
TIDY_EVERY = 64
"""Chunks after which the pieces on the disk are joined."""
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""Why a file is not there, unlike one that is there and cannot be read."""
CARRIED = ("path", "content", "caption", "edited", "vector")


@dataclass
class Changes:
    """What an index run did."""

    unchanged: int = 0
    added: int = 0
    changed: int = 0
    carried: int = 0
    """Moved, copied or merely touched: known bytes, not looked at again."""
    deleted: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass
class Unread:
    """Folders and files that are there but could not be read, by a missing right or a failing disk.

    Their photos are not held to be gone: their rows, and what people wrote in them, stay.
    """

    paths: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def add(self, error: OSError) -> None:
        if error.errno not in GONE:
            self.paths.add(str(error.filename))
            reason = error.strerror or str(error)
            self.faults.append(f"{error.filename} cannot be read ({reason}); what the index has of it is kept")

    def hides(self, path: str) -> bool:
        return bool(self.paths) and not self.paths.isdisjoint((path, *map(str, Path(path).parents)))


def update_index(
    store: Store,
    folders: Sequence[Path],
    engine_for: Callable[[np.ndarray], Engine],
    chunk: int = 256,
    forget: bool = False,
    tick: Callable[[int], None] = lambda photos: None,
) -> Changes:
    """Make the index say what the folders hold. `engine_for` is given the hashes of the contents that are known."""
    if not folders:
        raise InputError("Name at least one folder of photos.")
    roots = [str(folder.resolve()) for folder in folders]
    for root in roots:
        if not os.path.isdir(root):
            raise InputError(f"{root} is not a folder; name a folder of photos.")
    changes = Changes()
    with _only_writer(store.where):
        known, unread = read_known(store), Unread()
        for count, examined in enumerate(
            engine_for(known.contents)(_work(roots, known, unread, changes, chunk, tick)), 1
        ):
            missed = _keep(store, known, examined, changes)
            if missed:
                again = engine_for(np.zeros(0, np.uint64))(iter([missed]))
                _keep(store, known, [one for some in again for one in some], changes)
            tick(len(examined))
            if count % TIDY_EVERY == 0:
                store.tidy()
        changes.faults += unread.faults
        gone = [path for path in known.gone(store, roots) if not unread.hides(path)]
        _reject_emptied(store, roots, gone, forget)
        store.delete(gone)
        changes.deleted = len(gone)
        if changes.added or changes.changed or changes.carried or changes.deleted:
            store.tidy()
    return changes


def _work(
    roots: Sequence[str], known: Known, unread: Unread, changes: Changes, chunk: int, tick: Callable[[int], None]
) -> Iterator[list[Photo]]:
    """Photos that are new or not what they were, in chunks; the first are small, so that looking begins at once."""
    waiting: list[Photo] = []
    size = min(chunk, FIRST_CHUNK)
    for some in _in_pieces(_walk(roots, unread), WALKED):
        states = [_state(photo.path, unread) for photo in some]
        there = [photo for photo, state in zip(some, states) if state is not None]
        sizes, modified = np.asarray([state for state in states if state is not None], np.int64).reshape(-1, 2).T
        same = known.unchanged([photo.path for photo in there], sizes, modified)
        changes.unchanged += int(same.sum())
        tick(int(same.sum()))
        waiting.extend(photo for photo, as_before in zip(there, same.tolist()) if not as_before)
        while len(waiting) >= size:
            yield waiting[:size]
            waiting, size = waiting[size:], min(chunk, 2 * size)
    if waiting:
        yield waiting


def _walk(roots: Sequence[str], unread: Unread) -> Iterator[Photo]:
    """Each photo once, though folders may lie in one another: it belongs to the outermost that was named."""
    outermost = [root for root in dict.fromkeys(roots) if not any(_within(root, other) for other in roots)]
    for root in outermost:
        for path in images_in(Path(root), unread.add):
            yield Photo(str(path), root)


def _within(root: str, other: str) -> bool:
    return root != other and Path(root).is_relative_to(other)


def _state(path: str, unread: Unread) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError as error:
        unread.add(error)
        return None
    return status.st_size, status.st_mtime_ns


def _keep(store: Store, known: Known, examined: Sequence[Examined], changes: Changes) -> list[Photo]:
    """Write a chunk: rows of known paths replace theirs, all others are added.

    Photos are given back whose vector was to be carried over from a row that is no more (two files that took each
    other's place in different chunks): they must be looked at after all.
    """
    good = [one for one in examined if one.facts is not None]
    changes.faults += [one.fault for one in examined if one.fault]
    contents = [one.facts.content for one in good if one.vector is None and one.facts is not None]
    carried = {row["content"]: row for row in store.having("content", contents, CARRIED)}
    missed = [o.photo for o in good if o.vector is None and o.facts is not None and o.facts.content not in carried]
    good = [one for one in good if one.photo not in missed]
    paths = [one.photo.path for one in good]
    there = (known.find(paths) >= 0).tolist()
    new: list[dict[str, Any]] = []
    replaced: list[dict[str, Any]] = []
    for one, old in zip(good, there):
        row = _row(one, carried)
        (replaced if old else new).append(row)
        if one.vector is None:
            changes.carried += 1
        elif old:
            changes.changed += 1
        else:
            changes.added += 1
    store.put(_table(replaced, store))
    store.add(_table(new, store))
    _carry_edits(store, carried, new, replaced)
    return missed


def _carry_edits(
    store: Store, carried: dict[str, dict[str, Any]], new: list[dict[str, Any]], replaced: list[dict[str, Any]]
) -> None:
    """What people wrote goes along with the bytes, though they may write at this very moment.

    A new row has what its source had when it was read: what has been written to the source since is added now, and
    what is written later reaches both. A row that has words of its own keeps them, whatever bytes its file has now.
    """
    sources = {row["content"]: before for row in (*new, *replaced) if (before := carried.get(row["content"]))}
    now = dict(_edits(store, [before["path"] for before in sources.values()]))
    own = dict(_edits(store, [row["path"] for row in replaced if row["content"] in sources]))
    for row in (*new, *replaced):
        before = sources.get(row["content"])
        if before is None or before["path"] == row["path"]:
            continue
        latest = now.get(before["path"], before["edited"])
        there = own[row["path"]] if row["path"] in own else row["edited"]
        if latest != there and (row["path"] not in own or there is None):
            store.edit_unless_changed(row["path"], there, latest)


def _edits(store: Store, paths: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    yield from ((row["path"], row["edited"]) for row in store.having("path", paths, ["path", "edited"]))


def _row(one: Examined, carried: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A row that is there already keeps what a person wrote: it outlives a change of the image."""
    assert one.facts is not None
    facts = {**one.facts.__dict__, "path": one.photo.path, "folder": one.photo.folder}
    if one.vector is not None:
        return {**facts, "vector": one.vector, "caption": one.caption, "edited": None}
    before = carried[one.facts.content]
    return {**facts, "vector": before["vector"], "caption": before["caption"], "edited": before["edited"]}


def _table(rows: list[dict[str, Any]], store: Store) -> pa.Table:
    import pyarrow as pa

    schema = store.schema()
    vectors = np.asarray([row["vector"] for row in rows], np.float16).reshape(len(rows), store.about.width)
    flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), store.about.width)
    columns = {
        name: flat if name == "vector" else pa.array([row[name] for row in rows], schema.field(name).type)
        for name in schema.names
    }
    return pa.table(columns, schema=schema)


def _reject_emptied(store: Store, roots: Sequence[str], gone: Sequence[str], forget: bool) -> None:
    """A folder that lost every photo is more likely a disk that is not mounted."""
    if forget or not gone:
        return
    for root in roots:
        if any(path.startswith(root + os.sep) for path in gone) and next(images_in(Path(root)), None) is None:
            raise InputError(
                f"{root} holds no photos now, but photos of it are in the index {store.where}. If its disk is not "
                "mounted, mount it; if they are meant to go, say --forget."
            )


def _in_pieces(photos: Iterable[Photo], size: int) -> Iterator[list[Photo]]:
    piece: list[Photo] = []
    for photo in photos:
        piece.append(photo)
        if len(piece) == size:
            yield piece
            piece = []
    if piece:
        yield piece


@contextlib.contextmanager
def _only_writer(where: str) -> Iterator[None]:
    """Two runs must not look at the same photos at once. On object storage LanceDB's own transactions must do."""
    if "://" in where:
        yield
        return
    import fcntl

    with (Path(where) / ".lock").open("w") as guard:
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(f"Another run is writing the index {where}; wait for it.") from error
        yield
