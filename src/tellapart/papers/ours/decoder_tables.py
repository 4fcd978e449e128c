"""Our table on COCO: AdaptiveAttention, Up-Down and a transformer on the same cells, with the same training."""

from __future__ import annotations

from tellapart.papers.rows import table_row
from tellapart.reproduce.caption_columns import TEXT_METRICS
from tellapart.reproduce.table import Claim, Greater, Table

ADAPTIVE, UP_DOWN, TRANSFORMER = "AdaptiveAttention", "Up-Down", "transformer"

DECODERS = Table(
    name="tell/decoders",
    paper="Ours",
    title="Three decoders on the cells of the bundled backbone",
    columns=TEXT_METRICS,
    rows=(
        table_row(ADAPTIVE, "decoder-adaptive-attention"),
        table_row(UP_DOWN, "decoder-up-down"),
        table_row(TRANSFORMER, "decoder-transformer"),
    ),
    claims=(
        Claim("The transformer has a higher CIDEr than Up-Down.", (Greater(TRANSFORMER, UP_DOWN, "CIDEr"),)),
        Claim("The transformer has a higher CIDEr than AdaptiveAttention.", (Greater(TRANSFORMER, ADAPTIVE, "CIDEr"),)),
    ),
    seeds=2,
    notes=("Values in percent; beam of 3. Two epochs by likelihood, the same batches and schedule for all three.",),
    pack_names=("coco",),
)

TABLES = (DECODERS,)
