"""All tables by name. One file a paper, another for what we ask beyond it; a table is a frozen value."""

from __future__ import annotations

from collections.abc import Sequence

from tellapart.core.errors import InputError
from tellapart.papers.contrastive_captioning import tables as contrastive_captioning
from tellapart.papers.convse import tables as convse
from tellapart.papers.grounded_captioning import tables as grounded_captioning
from tellapart.papers.grounded_captioning import tables_ours as grounded_captioning_ours
from tellapart.papers.ltd import tables as ltd
from tellapart.papers.ltd import tables_ours as ltd_ours
from tellapart.papers.ours import captioner_tables as tell
from tellapart.papers.ours import matcher_tables as find
from tellapart.papers.r2m import tables as r2m
from tellapart.reproduce.table import Table

TABLES: dict[str, Table] = {
    table.name: table
    for paper in (
        convse,
        ltd,
        ltd_ours,
        find,
        contrastive_captioning,
        grounded_captioning,
        grounded_captioning_ours,
        r2m,
        tell,
    )
    for table in paper.TABLES
}


def find_tables(names: Sequence[str]) -> list[Table]:
    """Tables by name; `convse/*` is all of a paper's."""
    found: list[Table] = []
    for name in names:
        fitting = [table for key, table in TABLES.items() if key == name or f"{key.split('/')[0]}/*" == name]
        if not fitting:
            raise InputError(
                f"There is no table '{name}'; `tellapart reproduce --list` names them: {', '.join(TABLES)}."
            )
        found.extend(table for table in fitting if table not in found)
    return found
