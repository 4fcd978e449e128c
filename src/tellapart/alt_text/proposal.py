"""An alternative text that is proposed for an image of a page, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tellapart.alt_text.document import Edit

Status = Literal["caption", "own", "decorative", "review", "skipped"]
"""caption: generated. own: written by people, in the title or the metadata of the image. decorative: empty. review:
a person must decide, nothing is written. skipped: there is no text."""
WRITTEN = ("caption", "own", "decorative")


@dataclass(frozen=True)
class Proposal:
    """What is proposed for one image."""

    page: Path
    line: int
    image: str
    """Its address as the page writes it."""
    status: Status
    alt: str | None = None
    note: str = ""
    """Why it is decorative, skipped, or for review; what else a reader should know."""
    confidence: float | None = None
    """Of a generated caption: the probability that it is true."""
    edit: Edit | None = None
    """The change of the page, if it is to be written."""

    def plain(self) -> dict[str, Any]:
        """For JSON and CSV. `alt` is what is written: a text that a person must review first is a `suggestion`."""
        for_review = self.status == "review"
        return {
            "page": str(self.page),
            "line": self.line,
            "image": self.image,
            "status": self.status,
            "alt": None if for_review else self.alt,
            "suggestion": self.alt if for_review else None,
            "note": self.note,
            "confidence": None if self.confidence is None else round(self.confidence, 3),
        }
