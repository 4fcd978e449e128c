"""Rows of an index from examined photos. Vectors and captions of known bytes are copied from existing rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart.search.changes import Changes
from tellapart.search.examined import Examined, Photo
from tellapart.search.known import Known
from tellapart.search.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

COPIED = ("path", "content", "caption", "edited", "vector", "confidence", "sure")

Row = dict[str, Any]
SAME_VECTOR = 0.999
"""Cosine of two vectors of one photo, which differ by rounding."""


def write_chunk(
    store: Store, known: Known, examined: Sequence[Examined], changes: Changes, verify: bool = False
) -> list[Photo]:
    """Write a chunk: rows of known paths are replaced, all others are added.

    Returns photos to encode again: those whose file changed between hashing and decoding, and those whose vector was
    to be copied from a row that is gone (two files that were swapped, in different chunks).
    verify: compare vectors with those in the index, to count rows that were wrong.
    """
    good = [one for one in examined if one.facts is not None]
    changes.faults += [one.fault for one in examined if one.fault and not one.changed]
    contents = [one.facts.content for one in good if one.vector is None and one.facts is not None]
    sources = {row["content"]: row for row in store.having("content", contents, COPIED)}
    missed = [o.photo for o in good if o.vector is None and o.facts is not None and o.facts.content not in sources]
    good = [one for one in good if one.photo not in missed]
    missed += [one.photo for one in examined if one.changed]
    paths = [one.photo.path for one in good]
    there = (known.find(paths) >= 0).tolist()
    before = {row["path"]: row for row in store.having("path", paths, COPIED)} if verify else {}
    new: list[Row] = []
    replaced: list[Row] = []
    for one, old in zip(good, there):
        row = _row(one, sources)
        (replaced if old else new).append(row)
        if (was := before.get(one.photo.path)) is not None and was["content"] == row["content"]:
            same = float(np.dot(np.asarray(was["vector"], np.float32), row["vector"])) > SAME_VECTOR
            changes.unchanged += same
            changes.repaired += not same
        elif one.vector is None and known.completes(one.photo.path):
            changes.unchanged += 1
            changes.completed += 1
        elif one.vector is None:
            changes.carried += 1
        elif old:
            changes.changed += 1
        else:
            changes.added += 1
    store.put(_table(replaced, store))
    store.add(_table(new, store))
    _copy_edits(store, sources, new, replaced)
    return missed


def _copy_edits(store: Store, sources: dict[str, Row], new: list[Row], replaced: list[Row]) -> None:
    """Copy edited captions with the bytes, even if people edit at this moment.

    A new row has the edited caption that its source had when it was read. An edit of the source since then is copied
    now; a later edit reaches both. A row with its own edited caption keeps it, whatever bytes its file has now.
    """
    used = {row["content"]: source for row in (*new, *replaced) if (source := sources.get(row["content"]))}
    now = dict(_edits(store, [source["path"] for source in used.values()]))
    own = dict(_edits(store, [row["path"] for row in replaced if row["content"] in used]))
    for row in (*new, *replaced):
        source = used.get(row["content"])
        if source is None or source["path"] == row["path"]:
            continue
        latest = now.get(source["path"], source["edited"])
        there = own[row["path"]] if row["path"] in own else row["edited"]
        if latest != there and (row["path"] not in own or there is None):
            store.edit_unless_changed(row["path"], there, latest)


def _edits(store: Store, paths: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    yield from ((row["path"], row["edited"]) for row in store.having("path", paths, ["path", "edited"]))


def _row(one: Examined, sources: dict[str, Row]) -> Row:
    assert one.facts is not None
    facts = {**one.facts.__dict__, "path": one.photo.path, "folder": one.photo.folder}
    if one.vector is not None:
        described = {"caption": one.caption, "confidence": one.confidence, "sure": one.sure}
        return {**facts, **described, "vector": one.vector, "edited": None}
    source = sources[one.facts.content]
    return {**facts, **{name: source.get(name) for name in ("vector", "caption", "confidence", "sure", "edited")}}


def _table(rows: list[Row], store: Store) -> pa.Table:
    import pyarrow as pa

    schema = store.schema()
    vectors = np.asarray([row["vector"] for row in rows], np.float16).reshape(len(rows), store.about.width)
    flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), store.about.width)
    columns = {
        name: flat if name == "vector" else pa.array([row[name] for row in rows], schema.field(name).type)
        for name in schema.names
    }
    return pa.table(columns, schema=schema)
