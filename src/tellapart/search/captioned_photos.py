"""A reader of an index of photos: those whose captions people wrote or edited, to learn from.

Generated captions are not read: learning them again would teach nothing. The id of an image is the hash of its bytes,
so that copies are one image and a moved photo stays in its split.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError, Step
from tellapart.data.readers import Reader
from tellapart.data.readers.source import ReaderOptions, Source, SourceCaption, SourceImage
from tellapart.search.location import is_index

COLUMNS = ("path", "folder", "content", "edited")


def recognise(source: Path) -> bool:
    """Whether a folder is an index."""
    return is_index(str(source))


def read(source: Path, options: ReaderOptions) -> Source:
    """The photos of an index with the captions that people wrote."""
    # Imported here because recognising a source does not need them.
    from tellapart.images.folders import file_inside
    from tellapart.search.store import open_store

    store = open_store(str(source))
    rows = list(store.rows(COLUMNS, edited=not options.keep_uncaptioned))
    if not any(row["edited"] for row in rows):
        raise InputError(
            f"Nobody has written a caption in the index {source} yet; edit some on its page first.",
            Step("serve", source),
        )
    root = os.path.commonpath([row["folder"] for row in rows])
    result = Source(name=source.resolve().name, root=Path(root), by_path=True)
    copies: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["path"]):
        copies.setdefault(row["content"], []).append(row)
    for content, same in copies.items():
        here = next((row for row in same if file_inside(row["path"], row["folder"])), None)
        if here is None:
            reason = "it is gone, or links out of its folder; update the index"
            result.skip("missing image", same[0]["path"], str(source), reason)
            continue
        result.images.append(SourceImage(content, os.path.relpath(here["path"], root), where=here["path"]))
        for text in dict.fromkeys(row["edited"] for row in same if row["edited"]):
            result.captions.append(SourceCaption(content, text, here["path"]))
    _skip_others(result, len(store) - len(rows), source)
    return result


def _skip_others(result: Source, others: int, source: Path) -> None:
    """One entry for all: an index may hold a million photos without a written caption."""
    if others:
        reason = "they have generated captions only; edit captions on the page of the index"
        result.skip("image without caption", f"{others:,} photos", str(source), reason)


READER = Reader(recognise, read, "an index of photos with captions that people wrote")
