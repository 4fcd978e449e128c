"""Tables of ours next to the contrastive captioning paper's: its learning rate, and a reward instead of a reference."""

from __future__ import annotations

from tellapart.papers.contrastive_captioning.small_scale import DATA, NOTES, SMALL
from tellapart.papers.contrastive_captioning.table_parts import COLUMNS, PAPER
from tellapart.papers.rows import table_row
from tellapart.reproduce.table import Claim, Greater, Row, Sweep, Table

RATES = ("1e-6", "5e-6", "2e-5", "5e-5", "1e-4", "2e-4", "4e-4", "1e-3")
CONTROLS = ("2e-5", "2e-4", "4e-4", "1e-3")


def _at(lr: str) -> Row:
    overrides = (*SMALL.first("aa"), *SMALL.later("cl"), f"cl.optimiser.lr={lr}")
    return table_row(f"rate {lr}", "adaptive-attention-cl", overrides)


def _continued(lr: str) -> Row:
    overrides = (*SMALL.first("aa"), *SMALL.later("continued"), f"continued.optimiser.lr={lr}")
    return table_row(f"continued, rate {lr}", "adaptive-attention-continued", overrides)


def _beats_control(lr: str, column: str, what: str) -> Claim:
    return Claim(
        f"At a learning rate of {lr}, CL improves {what} more than as many further steps of likelihood.",
        (Greater(f"rate {lr}", f"continued, rate {lr}", column),),
    )


RATES_TABLE = Table(
    name="contrastive-captioning/rates",
    paper=PAPER,
    title="The effect of CL's learning rate",
    columns=COLUMNS,
    rows=(
        table_row("AA", "adaptive-attention", SMALL.first("aa")),
        *map(_at, RATES),
        *map(_continued, CONTROLS),
    ),
    claims=(
        Claim(
            "At some learning rate CL improves self-retrieval (here: at 2e-4, the paper's sum).",
            (Greater("rate 2e-4", "AA", "top-5"),),
        ),
        Claim(
            "At some learning rate CL improves captions (here: at 2e-4, the paper's sum).",
            (Greater("rate 2e-4", "AA", "CIDEr"),),
        ),
        *(_beats_control(lr, "top-5", "self-retrieval") for lr in ("4e-4", "1e-3")),
        *(_beats_control(lr, "CIDEr", "captions") for lr in ("4e-4", "1e-3")),
    ),
    sweep=Sweep(
        "learning rate",
        {
            "CL": tuple((float(lr), f"rate {lr}") for lr in RATES),
            "continued likelihood": tuple((float(lr), f"continued, rate {lr}") for lr in CONTROLS),
        },
    ),
    seeds=3,
    notes=(
        *NOTES,
        "Not in the paper, which has one learning rate. Here each row has its own, falling to zero along a cosine: the "
        "sum over all steps is 0.0006 at 1e-6, 0.011 at 2e-5, 0.11 at 2e-4, 0.22 at 4e-4 and 0.56 at 1e-3. The other "
        "tables have 2e-4, the row whose sum is the paper's.",
    ),
)

UP_DOWN = ("features=grid", *SMALL.first("xe"), "xe.evaluation=captions")
UP_DOWN_TABLE = Table(
    name="contrastive-captioning/up-down",
    paper="Anderson et al. 2018; Rennie et al. 2017",
    title="Up-Down by likelihood, then self-critical on CIDEr-D: the effect of a reward on distinctiveness",
    columns=COLUMNS,
    rows=(
        table_row("Up-Down", "up-down", UP_DOWN),
        table_row(
            "Up-Down + SCST",
            "up-down-scst",
            (
                *UP_DOWN,
                "scst.sampling.batch=64",
                "scst.objective.baseline=leave-one-out",
                "scst.epochs=12",
                "scst.objective.reread=true",
                "scst.schedule.kind=cosine",
                "scst.evaluation=captions",
            ),
        ),
    ),
    claims=(
        Claim("Self-critical learning on CIDEr-D raises CIDEr.", (Greater("Up-Down + SCST", "Up-Down", "CIDEr"),)),
        Claim(
            "It reduces distinctiveness: fewer captions find their image.",
            (Greater("Up-Down", "Up-Down + SCST", "top-5"),),
        ),
    ),
    notes=(DATA, "Not in the paper: the same metrics for the captioner of grounded captioning."),
)
