"""Rows of an index from examined photos. Vectors and captions of known bytes are copied from existing rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellapart.search.changes import Changes
from tellapart.search.examined import Examined, Photo
from tellapart.search.known import Known
from tellapart.search.protocol import Store
from tellapart.search.table import COPIED, Row
from tellapart.text.written import as_written

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
    store.write(new, replaced, sources)
    return missed


def _row(one: Examined, sources: dict[str, Row]) -> Row:
    assert one.facts is not None
    facts = {**one.facts.__dict__, "path": one.photo.path, "folder": one.photo.folder}
    if one.vector is not None:
        described = {"caption": one.caption and as_written(one.caption), "confidence": one.confidence, "sure": one.sure}
        return {**facts, **described, "vector": one.vector, "edited": None}
    source = sources[one.facts.content]
    return {**facts, **{name: source.get(name) for name in ("vector", "caption", "confidence", "sure", "edited")}}
