"""Alternative texts that a person has reviewed in a CSV or JSON file, and the images of pages that they are for."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tellapart.alt_text.pages import Page
from tellapart.alt_text.proposal import Proposal
from tellapart.alt_text.propose import Replaced, lacks_text
from tellapart.alt_text.wording import LONGEST
from tellapart.core.errors import InputError
from tellapart.core.json_text import BrokenJson, parse_json
from tellapart.core.text_files import read_text

COLUMNS = ("page", "line", "image", "status", "alt", "suggestion", "note", "confidence")
NEEDED = ("page", "image", "alt")


class Reviewed:
    """Reviewed texts by page and address of the image, in the order of the page."""

    def __init__(self, rows: Iterable[dict[str, Any]], replaced: Sequence[Replaced] = ()) -> None:
        self.replaced = tuple(replaced)
        self._texts: dict[tuple[Path, str], list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            self._texts[Path(row["page"]).resolve(), row["image"]].append(row)

    def propose(self, page: Page) -> list[Proposal]:
        """The reviewed texts of a page whose images still lack one. Rows without a text and not decorative are left."""
        proposals: list[Proposal] = []
        for image in page.images:
            source = image.sources[0] if image.sources else ""
            rows = self._texts.get((page.path.resolve(), source), [])
            if not rows or not lacks_text(image, self.replaced):
                continue
            row = rows.pop(0) if len(rows) > 1 else rows[0]
            empty = Proposal(page.path, page.document.line(image.start), source, "skipped", note="no text in the file")
            text, decorative = str(row["alt"] or "").strip(), row.get("status") == "decorative"
            if len(text) > LONGEST:
                raise InputError(
                    f"{page.path}, {source}: its text has {len(text)} characters; write {LONGEST} at most."
                )
            if text:
                proposals.append(replace(empty, status="own", alt=text, note="reviewed", edit=image.edit(text)))
            elif decorative and (image.alt is not None or page.document.is_html):
                proposals.append(replace(empty, status="decorative", alt="", note="reviewed", edit=image.edit("")))
            else:
                proposals.append(empty)
        return proposals


def read_reviewed(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV file or of the JSON that the command prints; InputError if it has other columns."""
    text = read_text(path)
    if path.suffix.lower() == ".json":
        try:
            value = parse_json(text)
        except BrokenJson as error:
            raise InputError(f"{path}, line {error.line}: broken JSON ({error}); fix it.") from error
        rows = value.get("images") if isinstance(value, dict) else value
    else:
        rows = list(csv.DictReader(io.StringIO(text)))
    if not isinstance(rows, list) or not all(isinstance(row, dict) and all(n in row for n in NEEDED) for row in rows):
        raise InputError(f"{path} does not have the columns {', '.join(NEEDED)}; give a file that this command wrote.")
    return rows
