"""The `tellapart` commands in README, CONTRIBUTING and docs, as a reader would type them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_INLINE = re.compile(r"`(tellapart \w+ [^`]+)`")


class Command(NamedTuple):
    """One command: where it is, its words after `tellapart`, and whether it stands on a line of a block."""

    place: str
    words: tuple[str, ...]
    whole: bool

    def __str__(self) -> str:
        return f"{self.place}-{'-'.join(self.words[:2])}"


def commands_of(page: Path) -> Iterator[Command]:
    """The commands of a page: indented or fenced lines, and code within a line."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    name = str(page.relative_to(ROOT))
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip().startswith("tellapart "):
            yield Command(f"{name}:{number}", tuple(shlex.split(line, comments=True)[1:]), True)
        else:
            yield from (
                Command(f"{name}:{number}", tuple(shlex.split(found)[1:]), False)
                for found in _INLINE.findall(line)
                if not found.split()[1].isupper()  # `tellapart VERB --help`
            )


def block_after(page: Path, heading: str) -> list[tuple[str, ...]]:
    """The words of the commands in the first indented block below a heading."""
    lines = page.read_text(encoding="utf-8").split(f"\n{heading}\n")[1].splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("    "))
    block = []
    for line in lines[first:]:
        if not line.startswith("    "):
            break
        block.append(tuple(shlex.split(line, comments=True)))
    return block
