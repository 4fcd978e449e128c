"""Tables 1, 2 and 4 and Figure 3 of the grounded captioning paper."""

from __future__ import annotations

from tellapart.papers.rows import table_row
from tellapart.reproduce.table import Claim, Column, Greater, Row, Sweep, Table, Within

PAPER = "Zhou et al., More Grounded Image Captioning by Distilling Image-Text Matching Model"
FLICKR, COCO = "Flickr30k Entities (val)", "COCO (Karpathy test)"
SPLITS = (
    "The paper's values are on the validation split; ours are on the test split, and epochs are selected on "
    "validation. On Flickr8k the split is the public one (6,000 / 1,000 / 1,000)."
)
REGIONS = (
    "Regions here are boxes of a COCO detector, filled up with fixed ones, and encoded by a small backbone (in the "
    "name of the features, `cut`: each region is encoded by itself; `named`: with the detector's class). The paper "
    "has 36 boxes of a Visual Genome detector."
)
SPICE = "SPICE is empty where it was not run, METEOR where its tables are not installed."

ACCURACY = Column("Attention Acc.", "attention_accuracy", "grounding", 2)
CAPTIONS = (
    Column("B@1", "bleu1", "greedy-text-metrics"),
    Column("B@4", "bleu4", "greedy-text-metrics"),
    Column("M", "meteor", "greedy-text-metrics"),
    Column("C", "cider", "greedy-text-metrics"),
    Column("S", "spice", "greedy-text-metrics"),
)
ATTENTION = (Column("F1_all", "f1_all", "grounding", 2), Column("F1_loc", "f1_loc", "grounding", 2))
OURS = (ACCURACY, Column("CHAIR", "chair_words", "grounding"))
"""Columns that the paper does not print."""
BOUNDS = tuple(Column(name, f"region_{name}", "regions", 2) for name in ("ceiling", "chance", "first"))
KEPT_TO = tuple(Column(name, f"attention_accuracy_{name}", "grounding", 2) for name in ("detected", "sure"))
"""A matcher's accuracy among detections only, and among these weighted by the detector's confidence."""

THE_CODES = ("xe.objective.loss=kl-teacher-first", "xe.objective.mean_over=supervised")
"""Eq. 15 as in the released code: the divergence in the other direction, and its mean over nouns only."""

UNKNOWN = (None,) * (len(KEPT_TO) + len(BOUNDS))

TABLE1 = Table(
    name="grounded-captioning/table1",
    paper=PAPER,
    title="Table 1: attention accuracy on ground-truth sentences",
    columns=(ACCURACY, *KEPT_TO, *BOUNDS),
    rows=(
        table_row("SCAN", "scan", published={FLICKR: (17.63, *UNKNOWN)}),
        table_row("Up-Down + XE", "grounded-none", published={FLICKR: (19.83, *UNKNOWN)}),
        table_row("POS-SCAN", "grounded-matchers", published={FLICKR: (28.58, *UNKNOWN)}),
        table_row("Up-Down + XE + 0.1 NLL(GT)", "grounded-boxes", published={FLICKR: (37.17, *UNKNOWN)}),
        table_row("Up-Down + XE + 0.1 KL(POS-SCAN)", "grounded-pos-scan", published={FLICKR: (29.39, *UNKNOWN)}),
        table_row("Up-Down + XE + 0.1 KL(SCAN)", "grounded-scan"),
        table_row("Up-Down + XE + 0.1 KL(GT)", "grounded-boxes", ("xe.objective.loss=kl",)),
        table_row("Up-Down + XE + 0.1 any region(GT)", "grounded-boxes", ("xe.objective.loss=any-region",)),
        table_row(
            "Up-Down + XE + 0.1 KL(POS-SCAN), the code's divergence",
            "grounded-pos-scan",
            THE_CODES,
        ),
        table_row("POS-SCAN, as released", "grounded-matchers", ("pos-scan.model.compat=code",)),
        table_row("Up-Down + XE + 0.03 NLL(POS-SCAN, sure)", "grounded-best-region"),
    ),
    claims=(
        Claim(
            "Section 4.3, Q1: nouns only make SCAN's attention far more accurate.",
            (Greater("POS-SCAN", "SCAN", "Attention Acc."),),
        ),
        Claim(
            "Section 4.3, Q1: SCAN's attention is no better than an unsupervised captioner's.",
            (Greater("Up-Down + XE", "SCAN", "Attention Acc."),),
        ),
        Claim(
            "Section 4.3, Q2: distilling POS-SCAN makes the captioner's attention more accurate.",
            (Greater("Up-Down + XE + 0.1 KL(POS-SCAN)", "Up-Down + XE", "Attention Acc."),),
        ),
        Claim(
            "Ours: so does its best region among sure detections.",
            (Greater("Up-Down + XE + 0.03 NLL(POS-SCAN, sure)", "Up-Down + XE", "Attention Acc."),),
        ),
        Claim(
            "True boxes are the upper bound.",
            (Greater("Up-Down + XE + 0.1 NLL(GT)", "Up-Down + XE + 0.1 KL(POS-SCAN)", "Attention Acc."),),
        ),
    ),
    notes=(
        SPLITS,
        REGIONS,
        "The last six rows are not in the paper's table: other losses, and POS-SCAN as in the released code.",
        "Nor are the other columns: a matcher's accuracy among detections only, and among these weighted by the "
        "detector's confidence; how often any region is right, a random region, and the surest detection.",
    ),
)

SUPERVISION = {"boxes": "GT", "none": "no supervision", "scan": "SCAN", "pos-scan": "POS-SCAN"}
REWARD = {"": "XE", "cider": "CIDEr", "cider-scan": "CIDEr + SCAN", "cider-pos-scan": "CIDEr + POS-SCAN"}
PUBLISHED = {
    ("boxes", ""): (70.1, 27.4, 21.8, 58.9, 15.4, 8.33, 23.09),
    ("boxes", "cider"): (73.4, 29.6, 22.4, 67.5, 16.0, 7.53, 18.40),
    ("boxes", "cider-scan"): (72.3, 28.5, 22.6, 67.0, 16.5, 8.35, 20.75),
    ("boxes", "cider-pos-scan"): (72.3, 27.6, 22.4, 64.4, 16.1, 8.01, 19.48),
    ("none", ""): (69.6, 26.9, 21.6, 57.1, 15.0, 5.11, 14.67),
    ("none", "cider"): (73.1, 29.1, 22.2, 67.1, 15.9, 4.19, 10.71),
    ("none", "cider-scan"): (73.1, 28.8, 22.3, 67.5, 16.1, 4.59, 12.81),
    ("none", "cider-pos-scan"): (72.1, 27.7, 22.5, 64.9, 16.3, 5.37, 13.88),
    ("scan", ""): (70.0, 27.7, 22.0, 58.8, 15.5, 4.49, 13.49),
    ("scan", "cider"): (73.2, 29.3, 22.5, 67.4, 16.0, 4.72, 13.47),
    ("scan", "cider-scan"): (73.2, 28.6, 22.4, 67.8, 16.3, 4.77, 12.25),
    ("scan", "cider-pos-scan"): (73.3, 28.4, 22.5, 67.5, 16.1, 5.34, 14.79),
    ("pos-scan", ""): (70.4, 27.5, 21.8, 58.0, 15.3, 6.47, 17.96),
    ("pos-scan", "cider"): (73.7, 29.9, 22.3, 67.5, 16.0, 6.62, 16.97),
    ("pos-scan", "cider-scan"): (73.9, 29.4, 22.8, 68.2, 16.7, 7.30, 18.44),
    ("pos-scan", "cider-pos-scan"): (72.6, 28.0, 22.6, 64.3, 16.0, 7.63, 18.33),
}


BEST_SURE = "POS-SCAN's best sure region; XE"


def _name(supervision: str, reward: str) -> str:
    return f"{SUPERVISION[supervision]}; {REWARD[reward]}"


def _all_supervisions(reward: str) -> tuple[str, ...]:
    """The rows of one reward, with every supervision."""
    return tuple(_name(supervision, reward) for supervision in SUPERVISION)


SHORTER = (
    "scst.epochs=12",
    "scst.sampling.batch=64",
    "scst.objective.baseline=leave-one-out",
    "scst.objective.reread=true",
)
"""The second stage, shortened from 80 epochs with batches of 29 images."""


def _table2_row(supervision: str, reward: str) -> Row:
    return table_row(
        _name(supervision, reward),
        f"grounded-{supervision}-{reward}" if reward else f"grounded-{supervision}",
        SHORTER if reward else (),
        published={FLICKR: (*PUBLISHED[supervision, reward], None, None)},
    )


TABLE2 = Table(
    name="grounded-captioning/table2",
    paper=PAPER,
    title="Table 2: supervision of the first stage, reward of the second",
    columns=(*CAPTIONS, *ATTENTION, *OURS),
    rows=(
        *(_table2_row(supervision, reward) for supervision, reward in PUBLISHED),
        table_row("POS-SCAN, the code's divergence; XE", "grounded-pos-scan", THE_CODES),
        table_row("GT, Eq. 15's divergence; XE", "grounded-boxes", ("xe.objective.loss=kl",)),
        table_row(BEST_SURE, "grounded-best-region"),
    ),
    claims=(
        Claim(
            "Section 4.3, Q2: supervision by POS-SCAN grounds captions better than none, without any boxes.",
            tuple(Greater(_name("pos-scan", ""), _name("none", ""), column) for column in ("F1_all", "F1_loc")),
        ),
        Claim(
            "Section 4.3, Q2: it does not reduce caption quality (here: CIDEr no more than 1 below).",
            (Greater(_name("pos-scan", ""), _name("none", ""), "C", by=-1.0),),
        ),
        Claim(
            "Ours: supervised by POS-SCAN's best sure region, captions are grounded better, without loss of CIDEr.",
            (
                *(Greater(BEST_SURE, _name("none", ""), column) for column in ("F1_all", "F1_loc", "Attention Acc.")),
                Greater(BEST_SURE, _name("none", ""), "C", by=-1.0),
            ),
        ),
        Claim(
            "Section 4.3, Q2: supervision by SCAN does not help (here: less than POS-SCAN's).",
            tuple(Greater(_name("pos-scan", ""), _name("scan", ""), column) for column in ("F1_all", "F1_loc")),
        ),
        Claim(
            "Section 4.3, Q2: true boxes are the upper bound.",
            tuple(Greater(_name("boxes", ""), _name("pos-scan", ""), column) for column in ("F1_all", "F1_loc")),
        ),
        Claim(
            "Section 4.3, Q3: SCST with CIDEr improves captions (all supervisions averaged).",
            (Greater(_all_supervisions("cider"), _all_supervisions(""), "C"),),
        ),
        Claim(
            "Section 4.3, Q3: it makes grounding worse, in most cases (averaged).",
            (Greater(_all_supervisions(""), _all_supervisions("cider"), "F1_loc"),),
        ),
        Claim(
            "Section 4.3, Q4: SCAN's score as a second reward grounds better than CIDEr alone (averaged).",
            (Greater(_all_supervisions("cider-scan"), _all_supervisions("cider"), "F1_all"),),
        ),
        Claim(
            "Section 4.3, Q4: SCAN's reward is a better trade-off than POS-SCAN's: better captions (averaged).",
            (Greater(_all_supervisions("cider-scan"), _all_supervisions("cider-pos-scan"), "C"),),
        ),
    ),
    notes=(
        SPLITS,
        REGIONS,
        SPICE,
        "GT is supervision by the log-likelihood of the best region, as in Table 1. Captions are greedy. The last "
        "three rows are not in the paper's table.",
        "SCST has 12 epochs with batches of 64 images instead of 80 with 29, samples without dropout (`reread`) and "
        "compares the five captions of an image with each other instead of with the greedy one.",
    ),
)

LARGE = ("xe.model.hidden=1024", "xe.evaluation=captions")
"""COCO: wider, and without boxes for validation."""
LARGE_SCST = (*LARGE, "scst.evaluation=captions")
COCO_CAPTIONS = tuple(Column(c.name, c.metric, "text-metrics", c.decimals) for c in CAPTIONS)

TABLE4 = Table(
    name="grounded-captioning/table4",
    paper=PAPER,
    title="Table 4: Up-Down on COCO",
    columns=COCO_CAPTIONS,
    rows=(
        table_row("XE", "grounded-none", LARGE, {COCO: (76.2, 36.4, 27.7, 113.1, 20.5)}),
        table_row("XE; CIDEr", "grounded-none-cider", LARGE_SCST, {COCO: (80.0, 37.8, 28.1, 125.2, 21.6)}),
        table_row("XE + POS-SCAN", "grounded-pos-scan", LARGE, {COCO: (76.6, 36.5, 27.9, 114.9, 20.8)}),
        table_row(
            "XE + POS-SCAN; CIDEr", "grounded-pos-scan-cider", LARGE_SCST, {COCO: (80.1, 37.8, 28.3, 125.9, 22.0)}
        ),
        table_row(
            "XE + POS-SCAN; CIDEr + SCAN",
            "grounded-pos-scan-cider-scan",
            LARGE_SCST,
            {COCO: (80.2, 38.0, 28.5, 126.1, 22.2)},
        ),
    ),
    claims=(
        Claim("POS-SCAN's supervision helps captions.", (Greater("XE + POS-SCAN", "XE", "C"),)),
        Claim("POS-SCAN's supervision still helps after SCST.", (Greater("XE + POS-SCAN; CIDEr", "XE; CIDEr", "C"),)),
        Claim("SCAN's reward adds to it.", (Greater("XE + POS-SCAN; CIDEr + SCAN", "XE + POS-SCAN; CIDEr", "C"),)),
    ),
    notes=(
        REGIONS,
        SPICE,
        "Beam 3, as in the paper. COCO here has no boxes, so grounding is not measured.",
        "It needs a pack of COCO with regions. Our split of COCO has vectors and grid cells, for which no detector was "
        "run, so that this table has no runs on it.",
    ),
    lacks="detections of COCO's images",
)

WEIGHTS = ("0.02", "0.05", "0.1", "0.2", "0.5", "1.0")
SUPERVISORS = ("pos-scan", "scan", "boxes")
UNSUPERVISED = table_row("lambda_1 = 0", "grounded-none")


def _weighted(supervision: str, weight: str) -> Row:
    return table_row(
        f"{SUPERVISION[supervision]}, lambda_1 = {weight}",
        f"grounded-{supervision}",
        (f"xe.objective.weight={weight}",),
    )


def _line(supervision: str) -> tuple[tuple[float, str], ...]:
    """The points of one line: lambda_1 and the row that has it."""
    return (0.0, UNSUPERVISED.name), *((float(weight), _weighted(supervision, weight).name) for weight in WEIGHTS)


FIGURE3 = Table(
    name="grounded-captioning/figure3",
    paper=PAPER,
    title="Figure 3: the effect of lambda_1 on captions and attention",
    columns=(CAPTIONS[3], CAPTIONS[4], *ATTENTION, ACCURACY),
    rows=(
        UNSUPERVISED,
        *(_weighted(supervision, weight) for supervision in SUPERVISORS for weight in WEIGHTS),
    ),
    sweep=Sweep("lambda_1", {SUPERVISION[supervision]: _line(supervision) for supervision in SUPERVISORS}),
    claims=(
        Claim(
            "Figure 3: supervision with the right weight improves attention.",
            tuple(Greater("POS-SCAN, lambda_1 = 0.1", "lambda_1 = 0", column) for column in ("F1_all", "F1_loc")),
        ),
        Claim(
            "Figure 3: captions do not get worse (here: CIDEr within 2).",
            (Within("POS-SCAN, lambda_1 = 0.1", "lambda_1 = 0", "C", 2.0),),
        ),
    ),
    seeds=1,
    notes=(SPLITS, REGIONS, SPICE, "The paper's figure has no numbers; the weights are ours."),
)

TABLES = (TABLE1, TABLE2, TABLE4, FIGURE3)
