"""The captions that people wrote for a photo, oldest first: a second table in LanceDB next to the index.

content   hash of the photo's bytes          caption   null where the generated caption was restored
path      of the file at that time           saved     in UTC
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Sequence
from typing import Any

from tellapart.core.errors import InputError
from tellapart.search.edit_history import Edit
from tellapart.search.lance.compaction import compact_table
from tellapart.search.lance.saved import Saved
from tellapart.search.lance.schema import listed, quoted
from tellapart.search.table_errors import table_errors

TABLE = "edits"


class EditHistory:
    """The edits of an index, by the connection to its database."""

    def __init__(self, where: str, database: Any) -> None:
        self.where, self.database = where, database

    def add(self, content: str, path: str, caption: str | None) -> None:
        """Remember an edit. One that cannot be remembered is stored in the index all the same."""
        self.add_all([(content, path, caption)])

    def add_all(self, edits: Sequence[tuple[str, str, str | None]]) -> None:
        """Remember edits that were made together: content, path and caption of each."""
        import pyarrow as pa

        columns = [("content", pa.string()), ("path", pa.string()), ("caption", pa.string())]
        schema = pa.schema([*columns, ("saved", pa.timestamp("us"))])
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        rows = [{"content": one[0], "path": one[1], "caption": one[2], "saved": now} for one in edits]
        with contextlib.suppress(InputError), table_errors(self.where):
            table = self.database.create_table(TABLE, schema=schema, exist_ok=True)
            table.add(pa.Table.from_pylist(rows, schema))

    def compact(self, keep: datetime.timedelta) -> None:
        """Join small pieces and delete versions older than `keep`; put off if others keep writing."""
        with contextlib.suppress(InputError, ValueError), table_errors(self.where):
            compact_table(self.database.open_table(TABLE), Saved(self.where), TABLE, keep)

    def of(self, content: str, paths: Sequence[str]) -> list[Edit]:
        """The edits of a photo, oldest first."""
        same = f"content = {quoted(content)} OR path IN {listed(paths)}" if paths else f"content = {quoted(content)}"
        with table_errors(self.where):
            try:
                table = self.database.open_table(TABLE)
            except ValueError:  # nobody has edited a caption yet
                return []
            rows = table.search().where(same).select(["caption", "saved"]).to_arrow().to_pylist()
        edits = (Edit(row["caption"], row["saved"].replace(tzinfo=datetime.UTC)) for row in rows)
        return sorted(edits, key=lambda edit: edit.saved)

    def all(self) -> list[dict[str, Any]]:
        """Every edit: content, path, caption and time."""
        with table_errors(self.where):
            try:
                rows: list[dict[str, Any]] = self.database.open_table(TABLE).search().to_arrow().to_pylist()
            except ValueError:
                return []
            return rows
