"""Edited captions that follow copied bytes, where copying and editing are not one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tellapart.search.table import Row

if TYPE_CHECKING:
    from tellapart.search.lance.lance_store import LanceStore


def copy_edits(store: LanceStore, sources: dict[str, Row], new: Sequence[Row], replaced: Sequence[Row]) -> None:
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


def _edits(store: LanceStore, paths: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    yield from ((row["path"], row["edited"]) for row in store.having("path", paths, ["path", "edited"]))
