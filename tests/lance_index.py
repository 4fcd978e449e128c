"""An index in LanceDB, as earlier versions made in folders, and as there is on object storage."""

from __future__ import annotations

from pathlib import Path

from embeds_colours import Colours, fill
from tellapart.search.changes import Changes
from tellapart.search.lance.lance_store import LanceStore
from tellapart.search.table import About


def make_lance(where: Path, about: About) -> LanceStore:
    """A new index in LanceDB."""
    from tellapart.search.lance.opening import open_or_make_table

    return open_or_make_table(str(where), about)


def fill_lance(
    where: Path, colours: Colours, *folders: Path, chunk: int = 4, forget: bool = False
) -> tuple[LanceStore, Changes]:
    """As `fill`, with LanceDB."""
    make_lance(where, About(colours.fingerprint, "colours", "", 3))
    store, changes = fill(where, colours, *folders, chunk=chunk, forget=forget)
    assert isinstance(store, LanceStore)
    return store, changes
