"""An index of photos, as `tellapart index` makes it: those whose captions people wrote or mended, to learn from.

The captioner's own words are left out: learning them again would teach nothing. An image goes by the hash of its
bytes, so that copies are one image and a photo that is moved stays in its split.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.data.readers.source import ReaderOptions, Source, SourceCaption, SourceImage

COLUMNS = ("path", "folder", "content", "edited")


def recognise(source: Path) -> bool:
    return (source / "pictures.lance").is_dir()


def read(source: Path, options: ReaderOptions) -> Source:
    # Only here: a room above this one knows the table, and no other reader needs LanceDB.
    from tellapart.search.store import inside, open_store

    store = open_store(str(source))
    wanted = "" if options.keep_uncaptioned else "edited IS NOT NULL"
    rows = [row for batch in store.batches(COLUMNS, wanted) for row in batch.to_pylist()]
    if not any(row["edited"] for row in rows):
        raise InputError(
            f"Nobody has written a caption in the index {source} yet; mend some with `tellapart serve {source}` and "
            "save them."
        )
    root = os.path.commonpath([row["folder"] for row in rows])
    result = Source(name=source.resolve().name, root=Path(root), by_path=True)
    copies: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["path"]):
        copies.setdefault(row["content"], []).append(row)
    for content, same in copies.items():
        here = next((row for row in same if inside(row["path"], row["folder"])), None)
        if here is None:
            reason = "it is gone, or leads out of its folder; run `tellapart index` again"
            result.skip("missing image", same[0]["path"], str(source), reason)
            continue
        result.images.append(SourceImage(content, os.path.relpath(here["path"], root), where=here["path"]))
        for text in dict.fromkeys(row["edited"] for row in same if row["edited"]):
            result.captions.append(SourceCaption(content, text, here["path"]))
    _tell_others(result, len(store) - len(rows), source)
    return result


def _tell_others(result: Source, others: int, source: Path) -> None:
    """One line for all: an index may hold a million photos nobody has written about."""
    if others:
        reason = "only the captioner has spoken of them; mend captions with `tellapart serve`"
        result.skip("image without caption", f"{others:,} photos", str(source), reason)
