"""The training log: one JSON object per line, and TensorBoard files where they are asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tellapart.core.files import write_text


class Log:
    """Appends to log.jsonl, which starts again with the rows to keep of an earlier log."""

    def __init__(self, path: Path, kept: Iterable[dict[str, Any]] = (), tensorboard: bool = False) -> None:
        self.path = path
        write_text(path, "".join(json.dumps(row) + "\n" for row in kept))
        self.file = path.open("a", encoding="utf-8")
        self.board: Any = None
        if tensorboard:
            from torch.utils.tensorboard import SummaryWriter

            self.board = SummaryWriter(path.parent / "tensorboard")

    def write(self, **row: Any) -> None:
        """Append a row."""
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()
        if self.board is not None:
            for name, value in row.items():
                if isinstance(value, float):
                    self.board.add_scalar(f"{row['stage']}/{name}", value, row["total"])

    def close(self) -> None:
        """Close the files."""
        self.file.close()
        if self.board is not None:
            self.board.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """All rows of a log; a last line that a kill cut off is skipped."""
    if not path.is_file():
        return []
    rows = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows
