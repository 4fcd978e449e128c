"""Tables of no single paper: what finds best, and SCAN's readings side by side."""

from __future__ import annotations

from tellapart.papers.rows import table_row
from tellapart.reproduce.table import RETRIEVAL, RSUM, Above, Claim, Column, Greater, Table

COLUMNS = (*RETRIEVAL, RSUM, Column("val R@sum", "best_rsum", "log"))
CHOICE = "Choose by `val R@sum`, the best epoch's figure on validation; the others are the test split's."

BEST = Table(
    name="find/best",
    paper="none",
    title="The strongest matchers for few images and backbones that stay as they are",
    columns=COLUMNS,
    rows=(
        table_row("find-best", "find-best"),
        table_row("then hardest negatives", "find-best-hardest"),
        table_row("no sentence vector", "find-best-gru"),
        table_row("transformer over the grid", "find-best-transformer"),
        table_row("MiniLM tuned", "find-best-language"),
        table_row("regions", "find-best-regions"),
        table_row("one vector an image", "find-best-vector"),
        table_row("VSE++", "vse++"),
    ),
    claims=(
        Claim("Learned pooling of the grid beats one vector.", (Greater("find-best", "one vector an image", "R@sum"),)),
        Claim("A fixed sentence vector helps.", (Greater("find-best", "no sentence vector", "R@sum"),)),
        Claim("Hardest negatives after InfoNCE help.", (Greater("then hardest negatives", "find-best", "R@sum"),)),
        Claim("A transformer over the grid helps.", (Greater("transformer over the grid", "find-best", "R@sum"),)),
    ),
    seeds=1,
    notes=(CHOICE,),
)

SCAN = Table(
    name="find/scan",
    paper="Lee et al. 2018, Stacked Cross Attention; Zhou et al., More Grounded Image Captioning",
    title="SCAN's directions, and POS-SCAN",
    columns=COLUMNS,
    rows=(
        table_row("SCAN, words look", "scan"),
        table_row("SCAN, words look, log-sum-exp", "scan-lse"),
        table_row("SCAN, regions look", "scan-i2t"),
        table_row("SCAN, both", "scan-both"),
        table_row("POS-SCAN", "pos-scan"),
        table_row("POS-SCAN, as released", "pos-scan", ("pos-scan.model.compat=code",)),
        table_row("SCAN, words look, grid", "scan-grid"),
        table_row("POS-SCAN, grid", "pos-scan-grid"),
    ),
    claims=(
        Claim(
            "Both directions beat each alone.",
            (
                Greater("SCAN, both", "SCAN, words look", "R@sum"),
                Greater("SCAN, both", "SCAN, regions look", "R@sum"),
            ),
        ),
        Claim("Counting nouns alone costs recall.", (Greater("SCAN, words look", "POS-SCAN", "R@sum"),)),
    ),
    seeds=1,
    notes=(CHOICE,),
)

FROM_COCO = Table(
    name="find/from-coco",
    paper="none",
    title="The package's matcher, which learned from 87,000 images of COCO, tuned on a smaller pack",
    columns=COLUMNS,
    rows=(
        table_row("tuned", "find-from-coco-gru"),
        table_row("the same without COCO", "find-from-coco-gru", ("train.start=fresh", "train.epochs=15")),
    ),
    claims=(
        Claim("Tuned, it reaches an R@sum of 260.", (Above("tuned", "R@sum", 260.0),)),
        Claim("COCO helps.", (Greater("tuned", "the same without COCO", "R@sum"),)),
    ),
    notes=(
        CHOICE,
        "COCO's images and captions are extra training data. For a pack with the matcher's own words and features "
        "(`prepare --vocabulary-from bundled:matcher`, `extract --like bundled:matcher`).",
    ),
)

TABLES = (BEST, SCAN, FROM_COCO)
