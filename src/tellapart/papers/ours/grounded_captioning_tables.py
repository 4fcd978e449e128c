"""Our table about grounded captioning: how a captioner learns best from POS-SCAN's attention."""

from __future__ import annotations

from tellapart.papers.grounded_captioning.tables import ACCURACY, ATTENTION, CAPTIONS, PAPER, REGIONS, SPLITS, THE_CODES
from tellapart.papers.rows import table_row
from tellapart.reproduce.table import Claim, Greater, Row, Table

ONE_REGION = ("xe.objective.loss=nll",)
"""The teacher's best region is the target, as with true boxes, instead of its whole distribution."""
DETECTED, SURE = ("xe.objective.among=detected",), ("xe.objective.among=sure",)
"""Only detections are targets, not the boxes that fill up the number of regions; or only those the detector is sure
of."""


def _supervised(how: str, overrides: tuple[str, ...]) -> Row:
    return table_row(how, "grounded-pos-scan", overrides)


SUPERVISED = (
    _supervised("Eq. 15", ()),
    _supervised("as released", THE_CODES),
    _supervised("its best region", ONE_REGION),
    _supervised("Eq. 15, detected", DETECTED),
    _supervised("Eq. 15, sure", SURE),
    _supervised("as released, sure", (*THE_CODES, *SURE)),
    _supervised("its best region, sure", (*ONE_REGION, *SURE)),
    _supervised("Eq. 15, sure, lambda_1 = 0.01", (*SURE, "xe.objective.weight=0.01")),
    _supervised("as released, sure, lambda_1 = 0.03", (*THE_CODES, *SURE, "xe.objective.weight=0.03")),
    table_row("its best region, sure, lambda_1 = 0.03", "grounded-best-region"),
)

TEACHING = Table(
    name="grounded-captioning/teaching",
    paper=PAPER,
    title="Ways to learn from POS-SCAN's attention",
    columns=(CAPTIONS[3], *ATTENTION, ACCURACY),
    rows=(table_row("not supervised", "grounded-none"), *SUPERVISED),
    claims=tuple(
        Claim(
            f"{row.name}: attention is better, without loss of CIDEr (here: no more than 1 below).",
            (
                *(Greater(row.name, "not supervised", column) for column in ("F1_loc", "Attention Acc.")),
                Greater(row.name, "not supervised", "C", by=-1.0),
            ),
        )
        for row in SUPERVISED
    ),
    notes=(
        SPLITS,
        REGIONS,
        "A table of ours, of the first stage only. Restricted to detections, Eq. 15 is also a stronger supervision at "
        "the same lambda_1: where the teacher has no attention, a share of attention costs the floor of its "
        "logarithm, 18.4.",
    ),
)

TABLES = (TEACHING,)
