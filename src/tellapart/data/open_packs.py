"""Packs that a process has read: captions of a large pack take seconds to read, and every run of a table needs them."""

from __future__ import annotations

from pathlib import Path

from tellapart.data.pack import Pack

KEPT = 2
"""Packs kept at most."""

_kept: dict[tuple[str, int], Pack] = {}


def open_pack(folder: Path | str) -> Pack:
    """The pack in this folder, read once per process as long as its pack.json stays the same. Do not change its
    lists."""
    opened = Pack(folder)
    key = (str(opened.folder.resolve()), (opened.folder / "pack.json").stat().st_mtime_ns)
    pack = _kept.pop(key, opened)
    while len(_kept) >= KEPT:
        del _kept[next(iter(_kept))]
    _kept[key] = pack  # the latest comes last
    return pack
