"""The training log: one JSON object per line; trackers get the same values where they are asked for."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tellapart.core.files import write_text
from tellapart.training.trackers import Tracker


class Log:
    """Appends to log.jsonl, which starts again with the rows to keep of an earlier log."""

    def __init__(self, path: Path, kept: Iterable[dict[str, Any]] = (), trackers: Sequence[Tracker] = ()) -> None:
        self.path = path
        write_text(path, "".join(json.dumps(row) + "\n" for row in kept))
        self.file = path.open("a", encoding="utf-8")
        self.trackers = list(trackers)

    def write(self, **row: Any) -> None:
        """Append a row."""
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()
        values = {f"{row['stage']}/{name}": value for name, value in row.items() if isinstance(value, float)}
        for tracker in self.trackers:
            tracker.log(values, row["total"])

    def sync(self) -> None:
        """Write all rows so far to the disk, before a checkpoint counts on them."""
        os.fsync(self.file.fileno())

    def close(self) -> None:
        """Close the files."""
        self.sync()
        self.file.close()
        for tracker in self.trackers:
            tracker.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """All rows of a log; a last line that a kill cut off, or a damaged one, is skipped."""
    if not path.is_file():
        return []
    rows = []
    for line in path.read_bytes().split(b"\n"):
        with contextlib.suppress(ValueError, RecursionError):
            row = json.loads(line.decode("utf-8"))
            if isinstance(row, dict) and "stage" in row and isinstance(row.get("total"), int | float):
                rows.append(row)
    return rows
