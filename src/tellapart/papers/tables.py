"""All tables by name. Each paper has its own file, `ours/` has what goes beyond them; a table is a frozen value."""

from __future__ import annotations

from collections.abc import Sequence

from tellapart.core.errors import InputError, Step
from tellapart.core.suggestions import did_you_mean
from tellapart.papers.contrastive_captioning import tables as contrastive_captioning
from tellapart.papers.convse import coco_tables as convse_coco
from tellapart.papers.convse import heads_tables
from tellapart.papers.convse import tables as convse
from tellapart.papers.grounded_captioning import tables as grounded_captioning
from tellapart.papers.ltd import coco_tables as ltd_coco
from tellapart.papers.ltd import tables as ltd
from tellapart.papers.ours import (
    captioner_tables,
    decoder_tables,
    grounded_captioning_tables,
    ltd_encoder_tables,
    ltd_tables,
    matcher_tables,
    strong_start_tables,
)
from tellapart.papers.r2m import tables as r2m
from tellapart.reproduce.table import Table

TABLES: dict[str, Table] = {
    table.name: table
    for module in (
        convse,
        heads_tables,
        convse_coco,
        ltd,
        ltd_coco,
        ltd_tables,
        ltd_encoder_tables,
        matcher_tables,
        contrastive_captioning,
        grounded_captioning,
        grounded_captioning_tables,
        r2m,
        captioner_tables,
        decoder_tables,
        strong_start_tables,
    )
    for table in module.TABLES
}


def find_tables(names: Sequence[str]) -> list[Table]:
    """The tables of these names; `convse/*` names all tables of a paper."""
    found: list[Table] = []
    for name in names:
        fitting = [table for key, table in TABLES.items() if key == name or f"{key.split('/')[0]}/*" == name]
        if not fitting:
            raise InputError(f"Unknown table '{name}'.{did_you_mean(name, TABLES)}", Step("reproduce", list=True))
        found.extend(table for table in fitting if table not in found)
    return found
