"""What a check of a folder found."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tellapart.core.checksums import CHECKSUMS, compare


@dataclass(frozen=True)
class Finding:
    """Something that is not as it was saved."""

    what: str
    """One sentence that names the file and says what to do."""
    repaired: bool = False


@dataclass
class Findings:
    """The result of a check."""

    path: str
    kind: str
    """pack, features, run or index."""
    files: int = 0
    """Files whose checksum is right."""
    rows: int = 0
    """Images, or photos."""
    problems: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What cannot be verified, and what is no damage."""

    @property
    def damaged(self) -> bool:
        """Whether anything is left to repair."""
        return any(not one.repaired for one in self.problems)

    def problem(self, what: str, repaired: bool = False) -> None:
        """Note damage."""
        self.problems.append(Finding(what, repaired))

    def compare_files(self, folder: Path, advice: str) -> list[str]:
        """Compare the files of a folder with their checksums; the names of damaged and missing ones."""
        found = compare(folder)
        self.files += len(found.whole)
        if not (folder / CHECKSUMS).is_file():
            self.notes.append(f"{folder} has no checksums: an earlier version wrote it, or it was never finished.")
        elif found.unlisted:
            some = ", ".join(found.unlisted[:3]) + (" …" if len(found.unlisted) > 3 else "")
            self.notes.append(f"{folder}: {len(found.unlisted)} files have no checksum ({some}).")
        for name in found.damaged:
            self.problem(f"{folder / name} is damaged: its bytes are not those that were saved; {advice}.")
        for name in found.missing:
            self.problem(f"{folder / name} is missing; {advice}.")
        return [*found.damaged, *found.missing]

    def repaired(self, name: Path, how: str) -> None:
        """Turn what was found about a file into something that is repaired."""
        self.problems = [one for one in self.problems if not one.what.startswith(f"{name} is ")]
        self.problem(f"{name} was damaged; {how}.", repaired=True)
