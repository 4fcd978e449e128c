"""Our tables: the best matchers, and variants of SCAN."""

from __future__ import annotations

from tellapart.papers.rows import table_row
from tellapart.reproduce.table import RETRIEVAL, RSUM, Above, Below, Claim, Column, Curve, Greater, Row, Table

COLUMNS = (*RETRIEVAL, RSUM, Column("val R@sum", "best_rsum", "log"))
CHOICE = "Select by `val R@sum`, the value of the best epoch on validation; the other values are on the test split."

BEST = Table(
    name="find/best",
    paper="none",
    title="The strongest matchers for few images and frozen backbones",
    columns=COLUMNS,
    rows=(
        table_row("find-best", "find-best"),
        table_row("then hardest negatives", "find-best-hardest"),
        table_row("no sentence vector", "find-best-gru"),
        table_row("transformer over the grid", "find-best-transformer"),
        table_row("MiniLM fine-tuned", "find-best-language"),
        table_row("regions", "find-best-regions"),
        table_row("one vector per image", "find-best-vector"),
        table_row("VSE++", "vse++"),
    ),
    claims=(
        Claim(
            "Learned pooling of the grid beats one vector.", (Greater("find-best", "one vector per image", "R@sum"),)
        ),
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
        table_row("SCAN, words attend", "scan"),
        table_row("SCAN, words attend, log-sum-exp", "scan-lse"),
        table_row("SCAN, regions attend", "scan-i2t"),
        table_row("SCAN, both", "scan-both"),
        table_row("POS-SCAN", "pos-scan"),
        table_row("POS-SCAN, as released", "pos-scan", ("pos-scan.model.compat=code",)),
        table_row("SCAN, words attend, grid", "scan-grid"),
        table_row("POS-SCAN, grid", "pos-scan-grid"),
    ),
    claims=(
        Claim(
            "Both directions beat each alone.",
            (
                Greater("SCAN, both", "SCAN, words attend", "R@sum"),
                Greater("SCAN, both", "SCAN, regions attend", "R@sum"),
            ),
        ),
        Claim("Counting nouns only reduces recall.", (Greater("SCAN, words attend", "POS-SCAN", "R@sum"),)),
    ),
    seeds=1,
    notes=(CHOICE,),
)

STARTED = {"SCAN": "scan", "POS-SCAN": "pos-scan", "POS-SCAN, as released": "pos-scan-code"}
"""Beginnings of the recipes' names."""


def _started(name: str, recipe: str) -> tuple[Row, ...]:
    released = recipe == "pos-scan-code"
    return (
        table_row(name, "pos-scan" if released else recipe, ("pos-scan.model.compat=code",) if released else ()),
        table_row(f"{name}, warmed", f"{recipe}-warmed"),
        table_row(f"{name}, all negatives first", f"{recipe}-all-first"),
    )


WARMED = Table(
    name="find/warmed",
    paper="Lee et al. 2018, Stacked Cross Attention; Zhou et al., More Grounded Image Captioning",
    title="SCAN and POS-SCAN from a standing start, with a learning rate that rises, and after all negatives",
    columns=COLUMNS,
    rows=tuple(row for name, recipe in STARTED.items() for row in _started(name, recipe)),
    claims=(
        Claim(
            "POS-SCAN as released never leaves chance (here: R@sum below 20).",
            (Below("POS-SCAN, as released", "R@sum", 20.0),),
        ),
        *(
            Claim(f"{name}: {how} helps.", (Greater(f"{name}, {row}", name, "R@sum"),))
            for name in STARTED
            for row, how in (("warmed", "a rising learning rate"), ("all negatives first", "an epoch of all negatives"))
        ),
    ),
    curves=(Curve("recall sum on validation", ("rsum",)),),
    notes=(
        CHOICE,
        "As released: the scores of the released POS-SCAN code (`compat=code`). All rows train 30 epochs.",
    ),
)

FROM_COCO = Table(
    name="find/from-coco",
    paper="none",
    title="An earlier bundled matcher, trained on 87,000 images of COCO, fine-tuned on a smaller pack",
    columns=COLUMNS,
    rows=(
        table_row("fine-tuned", "find-from-coco-gru"),
        table_row("the same without COCO", "find-from-coco-gru", ("train.start=fresh", "train.epochs=15")),
    ),
    claims=(
        Claim("Fine-tuned, it reaches an R@sum of 260.", (Above("fine-tuned", "R@sum", 260.0),)),
        Claim("COCO helps.", (Greater("fine-tuned", "the same without COCO", "R@sum"),)),
    ),
    notes=(
        CHOICE,
        "COCO's images and captions are extra training data. For a pack with the matcher's vocabulary and features "
        "(`prepare --vocabulary-from RUN`, `extract --like RUN`).",
    ),
)

TABLES = (BEST, SCAN, WARMED, FROM_COCO)
