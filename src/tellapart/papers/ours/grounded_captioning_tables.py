"""Grounded captioning in a table of ours: how a captioner learns best from POS-SCAN's gaze."""

from __future__ import annotations

from tellapart.papers.grounded_captioning.tables import ACCURACY, ATTENTION, CAPTIONS, PAPER, REGIONS, SPLITS, THE_CODES
from tellapart.papers.rows import table_row
from tellapart.reproduce.table import Claim, Greater, Row, Table

ONE_REGION = ("xe.objective.loss=nll",)
"""The teacher's one best region is right, as with true boxes, in place of its whole distribution."""
DETECTED, SURE = ("xe.objective.among=detected",), ("xe.objective.among=sure",)
"""The teacher points at no box that only fills up the number of regions; and at those that the detector is sure of."""


def _taught(how: str, overrides: tuple[str, ...]) -> Row:
    return table_row(how, "grounded-pos-scan", overrides)


TAUGHT = (
    _taught("Eq. 15", ()),
    _taught("as released", THE_CODES),
    _taught("its best region", ONE_REGION),
    _taught("Eq. 15, detected", DETECTED),
    _taught("Eq. 15, sure", SURE),
    _taught("as released, sure", (*THE_CODES, *SURE)),
    _taught("its best region, sure", (*ONE_REGION, *SURE)),
    _taught("Eq. 15, sure, lambda_1 = 0.01", (*SURE, "xe.objective.weight=0.01")),
    _taught("as released, sure, lambda_1 = 0.03", (*THE_CODES, *SURE, "xe.objective.weight=0.03")),
    table_row("its best region, sure, lambda_1 = 0.03", "grounded-best-region"),
)

TEACHING = Table(
    name="grounded-captioning/teaching",
    paper=PAPER,
    title="Ways to learn from POS-SCAN's gaze",
    columns=(CAPTIONS[3], *ATTENTION, ACCURACY),
    rows=(table_row("not taught", "grounded-none"), *TAUGHT),
    claims=tuple(
        Claim(
            f"{row.name}: the gaze is better, at no loss in CIDEr (here: no more than 1 below).",
            (
                *(Greater(row.name, "not taught", column) for column in ("F1_loc", "Attention Acc.")),
                Greater(row.name, "not taught", "C", by=-1.0),
            ),
        )
        for row in TAUGHT
    ),
    notes=(
        SPLITS,
        REGIONS,
        "A table of ours, of the first stage alone. Kept to detections, Eq. 15 also teaches harder at the same "
        "lambda_1: where the teacher never looks, a share of attention costs its logarithm's floor, 18.4.",
    ),
)

TABLES = (TEACHING,)
