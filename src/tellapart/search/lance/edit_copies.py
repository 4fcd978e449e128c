"""The caption of every copy of a photo, also while `index` writes."""

from __future__ import annotations

import threading
from typing import Any

from tellapart.core.errors import InputError
from tellapart.search.lance.schema import quoted
from tellapart.search.table_errors import table_errors

ATTEMPTS = 5


def edit_copies(table: Any, where: str, content: str, caption: str | None, writing: threading.Lock) -> None:
    """Set the edited caption of all rows of a photo in the table of the index `where`, copies that are being indexed
    at this moment too; `writing` is held by what must not meet an edit."""
    same = f"content = {quoted(content)}"
    other = "edited IS NOT NULL" if caption is None else f"(edited IS NULL OR edited != {quoted(caption)})"
    for attempt in range(ATTEMPTS):
        try:
            with writing, table_errors(where):
                table.checkout_latest()
                table.update(where=same, values={"edited": caption})
                if not table.count_rows(f"{same} AND {other}"):
                    return
        except InputError as error:
            if "keep writing" not in str(error) or attempt == ATTEMPTS - 1:
                raise
