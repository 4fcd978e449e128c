"""A disk after a power failure, as file systems may leave it.

Names and bytes are kept apart: an fsync of a file keeps its bytes, an fsync of a folder keeps its names. Of everything
else a failure may keep any part. `Disk` replays recorded events; `after_failure` writes one of the possible outcomes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from power_loss.recording import MARKS, Event

SECTOR = 4096
"""Bytes that a disk writes together."""


@dataclass
class Node:
    """A file or folder, whatever its names are."""

    folder: bool
    entries: dict[str, Node] = field(default_factory=dict)
    """Names in a folder now."""
    history: list[dict[str, Node]] = field(default_factory=list)
    """Names after every change since the last fsync, and those at it first: any of them may be on the disk."""
    synced: bytes | None = None
    """The bytes at the last fsync of a file."""
    latest: bytes | None = None
    """The bytes as seen last."""


class Disk:
    """The state of a disk while events are replayed."""

    def __init__(self) -> None:
        self.root = Node(True, history=[{}])
        self.marks: list[str] = []

    def apply(self, event: Event) -> None:
        """Replay one event."""
        if event.path.startswith(MARKS + "/"):
            if event.kind == "create":
                self.marks.append(PurePath(event.path).name)
            return
        if event.kind in ("create", "mkdir"):
            self._name(event.path, Node(event.kind == "mkdir", history=[{}]))
        elif event.kind in ("rename", "link"):
            node = self._find(event.path) or Node(False)
            node.latest = event.data if event.data is not None else node.latest
            self._name(event.other, node)
            if event.kind == "rename":
                self._name(event.path, None)
        elif event.kind == "unlink":
            self._name(event.path, None)
        elif event.kind == "write" and (node := self._find(event.path)) is not None:
            node.latest = event.data
        elif event.kind == "sync" and (node := self._find(event.path)) is not None:
            node.history = [dict(node.entries)]
            if not node.folder:
                node.synced = node.latest = event.data

    def after_failure(self, where: Path, how: str, seed: int = 0) -> None:
        """Write what a failure may leave into a new folder.

        how: `dropped` keeps what was synced and nothing else; `empty`, `zeros`, `half` keep every name, and of files
        that were not synced no byte, zeros, or the first half; `any` keeps a random part of everything. Of a file that
        was changed in place since it was synced, only the changed sectors are in danger.
        """
        where.mkdir(parents=True)
        self._write(self.root, where, how, random.Random(seed))

    def _write(self, node: Node, path: Path, how: str, chance: random.Random) -> None:
        names = node.history[0] if how == "dropped" else node.entries
        if how == "any":
            names = chance.choice(node.history)
        for name, inner in names.items():
            if inner.folder:
                (path / name).mkdir()
                self._write(inner, path / name, how, chance)
            else:
                (path / name).write_bytes(_bytes(inner, how, chance))

    def _find(self, path: str) -> Node | None:
        node: Node | None = self.root
        for part in PurePath(path).parts:
            node = node.entries.get(part) if node is not None else None
        return node

    def _name(self, path: str, node: Node | None) -> None:
        parent = self._find(str(PurePath(path).parent))
        if parent is None:
            return
        if node is None:
            parent.entries.pop(PurePath(path).name, None)
        else:
            parent.entries[PurePath(path).name] = node
        parent.history.append(dict(parent.entries))


def _bytes(node: Node, how: str, chance: random.Random) -> bytes:
    if node.synced is not None and node.synced == node.latest:
        return node.synced
    latest = node.latest or b""
    if node.synced and how != "dropped":
        return _overwritten(node.synced, latest, how, chance)
    ways = {
        "dropped": node.synced or b"",
        "empty": b"",
        "zeros": bytes(len(latest)),
        "half": latest[: len(latest) // 2],
    }
    return ways.get(how, chance.choice([*ways.values(), latest]))


def _overwritten(synced: bytes, latest: bytes, how: str, chance: random.Random) -> bytes:
    """A file that was changed in place: of every changed sector the old or the new bytes, or zeros."""
    parts = []
    for first in range(0, max(len(synced), len(latest)), SECTOR):
        old, new = synced[first : first + SECTOR], latest[first : first + SECTOR]
        ways = {"empty": old, "zeros": bytes(len(new)), "half": new if 2 * first < len(latest) else old}
        parts.append(new if old == new else ways.get(how, chance.choice([old, new, bytes(len(new))])))
    return b"".join(parts)
