"""Tables of the contrastive captioning paper (CL), and one of Up-Down by likelihood and self-critical learning."""

from __future__ import annotations

from tellapart.papers.rows import table_row
from tellapart.reproduce.caption_columns import SELF_RETRIEVAL, TEXT_METRICS, percent
from tellapart.reproduce.table import Claim, Greater, Row, Table, Within

PAPER = "Dai & Lin, Contrastive Learning for Image Captioning"
COLUMNS = (*TEXT_METRICS, *SELF_RETRIEVAL)
COCO, INSTAPIC = "COCO", "InstaPIC-1.1M"
NONE = (None,) * len(SELF_RETRIEVAL)
DATA = (
    "Values in percent. The paper's are on COCO. Self-retrieval there is among 5,000 images, here among those of the "
    "test split: by chance, top-500 of 1,000 images is 50%, of 5,000 images 10%."
)
SETTINGS = (
    "Frozen features, layer-normalised. Likelihood: 20 epochs with batches of 64 images with five captions each. All "
    "stages after it: 6 epochs with batches of 32 images, the learning rate falling from 2e-5 to zero along a cosine, "
    "the last weights kept, so that no method is stopped at its best epoch on validation. The paper's 1e-6 is for a "
    "data set twenty times as large and many more epochs."
)
NOTES = (DATA, SETTINGS)


def _likelihood(stage: str) -> tuple[str, ...]:
    settings = ("model.scaling=layer", "sampling.batch=64", "optimiser.lr=5e-4", "epochs=20", "patience=0")
    return tuple(f"{stage}.{setting}" for setting in settings)


def _further(stage: str) -> tuple[str, ...]:
    settings = (
        "sampling.batch=32",
        "optimiser.lr=2e-5",
        "schedule.kind=cosine",
        "epochs=6",
        "patience=0",
        "evaluate_every=3",
        "keep=last",
    )
    return tuple(f"{stage}.{setting}" for setting in settings)


AA, NT, GRID = _likelihood("aa"), _likelihood("nt"), ("features=grid",)


def _row(
    name: str, recipe: str, overrides: tuple[str, ...], coco: tuple[float, ...] = (), more: tuple[float, ...] = ()
) -> Row:
    """coco: values of the ablations on COCO's validation split; more: values of Table 1."""
    published: dict[str, tuple[float | None, ...]] = {}
    if coco:
        published[f"{COCO} val"] = (*percent(*coco), *NONE)
    if more:
        recalls, (rouge, cider) = more[:4], percent(*more[4:])
        published[f"{COCO} test"] = (None, None, None, None, None, rouge, cider, *recalls)
    return table_row(name, recipe, overrides, published)


AA_VALUES = (0.733, 0.572, 0.433, 0.327, 0.260, 0.540, 1.042)
CL_VALUES = (0.755, 0.598, 0.460, 0.353, 0.271, 0.559, 1.142)
NT_VALUES = (0.697, 0.525, 0.389, 0.291, 0.238, 0.516, 0.882)
AA_CL = "adaptive-attention-cl"

TABLE1 = Table(
    name="contrastive-captioning/table1",
    paper=PAPER,
    title="Table 1: self-retrieval and captioning",
    columns=COLUMNS,
    rows=(
        _row("NT", "neuraltalk2", (*GRID, *NT), more=(0.02, 0.32, 3.02, 27.50, 0.652, 0.827)),
        _row("AA", "adaptive-attention", AA, more=(0.10, 0.96, 11.76, 78.46, 0.689, 1.004)),
        _row("AA + CL", AA_CL, (*AA, *_further("cl")), more=(0.32, 1.18, 11.84, 80.96, 0.695, 1.029)),
    ),
    claims=(
        Claim(
            "Section 4.1: models with better self-retrieval have better captions (AA against NT).",
            tuple(Greater("AA", "NT", column) for column in ("top-5", "top-50", "ROUGE-L", "CIDEr")),
        ),
        Claim(
            "Section 4.1: CL improves self-retrieval.",
            tuple(Greater("AA + CL", "AA", column) for column in ("top-1", "top-5", "top-50")),
        ),
        Claim(
            "Table 1: CL improves captions.",
            tuple(Greater("AA + CL", "AA", column) for column in ("ROUGE-L", "CIDEr")),
        ),
    ),
    notes=NOTES,
)

TABLE3 = Table(
    name="contrastive-captioning/table3",
    pack_names=("1 per image", "1 a picture"),  # the second: the name in older packs
    paper=PAPER,
    title="Table 3: one caption per image",
    columns=COLUMNS,
    rows=(
        table_row(
            "AA",
            "adaptive-attention",
            AA,
            {INSTAPIC: (*percent(0.065, 0.026, 0.011, 0.005, 0.029, 0.093, 0.126), *NONE)},
        ),
        table_row(
            "AA + CL",
            AA_CL,
            (*AA, *_further("cl")),
            {INSTAPIC: (*percent(0.072, 0.028, 0.013, 0.006, 0.032, 0.101, 0.144), *NONE)},
        ),
    ),
    claims=(
        Claim(
            "Section 5.3: with one caption per image, CL gains in every metric.",
            tuple(Greater("AA + CL", "AA", column.name) for column in TEXT_METRICS),
        ),
    ),
    notes=(
        "InstaPIC-1.1M is not available. This table is for a pack with one caption per training image, which `python "
        "-m tellapart.cli.fewer_captions PACK OUT` makes from any other pack. Its validation and test images keep all "
        "their captions, so that metrics stay comparable. In a batch, the one caption of a training image occurs five "
        "times.",
        "Values in percent. The paper's are on InstaPIC-1.1M, without self-retrieval.",
        SETTINGS,
    ),
)

TABLE4 = Table(
    name="contrastive-captioning/table4",
    paper=PAPER,
    title="Table 4: methods after maximum likelihood",
    columns=COLUMNS,
    rows=(
        _row("AA", "adaptive-attention", AA, AA_VALUES),
        _row(
            "AA + IL",
            "adaptive-attention-il",
            (*AA, *_further("il")),
            (0.706, 0.544, 0.408, 0.307, 0.253, 0.530, 1.004),
        ),
        _row(
            "AA + GAN",
            "adaptive-attention-gan",
            (*AA, *_further("gan")),
            (0.629, 0.437, 0.290, 0.190, 0.212, 0.458, 0.700),
        ),
        _row(
            "AA + CL(P)",
            "adaptive-attention-cl-positive",
            (*AA, *_further("cl")),
            (0.735, 0.573, 0.437, 0.334, 0.262, 0.545, 1.059),
        ),
        _row(
            "AA + CL(N)",
            "adaptive-attention-cl-negative",
            (*AA, *_further("cl")),
            (0.539, 0.411, 0.299, 0.212, 0.246, 0.479, 0.603),
        ),
        _row("AA + CL", AA_CL, (*AA, *_further("cl")), CL_VALUES),
        table_row("AA + CL, the paper's learning rate", AA_CL, (*AA, *_further("cl"), "cl.optimiser.lr=1e-6")),
    ),
    claims=(
        Claim("Section 5.3 (1): CL improves its base.", (Greater("AA + CL", "AA", "CIDEr"),)),
        Claim("Section 5.3 (1): introspective learning makes it worse.", (Greater("AA", "AA + IL", "CIDEr"),)),
        Claim("Section 5.3 (1): the GAN makes it worse.", (Greater("AA", "AA + GAN", "CIDEr"),)),
        Claim(
            "Section 5.3 (2): the positive constraint alone improves it, but less than both.",
            (Greater("AA + CL(P)", "AA", "CIDEr"), Greater("AA + CL", "AA + CL(P)", "CIDEr")),
        ),
        Claim(
            "Section 5.3 (2): the negative constraint alone makes it worse: too much distinctiveness.",
            (Greater("AA", "AA + CL(N)", "CIDEr"),),
        ),
        Claim(
            "Table 4: both constraints together are best in every metric.",
            tuple(
                Greater("AA + CL", row, column)
                for row in ("AA + IL", "AA + GAN", "AA + CL(P)", "AA + CL(N)")
                for column in ("B-4", "METEOR", "CIDEr")
            ),
        ),
    ),
    notes=NOTES,
)

TABLE5 = Table(
    name="contrastive-captioning/table5",
    paper=PAPER,
    title="Table 5: target and reference",
    columns=COLUMNS,
    rows=(
        _row("NT", "neuraltalk2", (*GRID, *NT), NT_VALUES),
        _row(
            "NT + CL(NT)",
            "neuraltalk2-cl",
            (*GRID, *NT, *_further("cl")),
            (0.708, 0.536, 0.399, 0.300, 0.242, 0.524, 0.905),
        ),
        _row(
            "NT + CL(AA)",
            "neuraltalk2-cl-adaptive-attention",
            (*AA, *NT, *_further("cl")),
            (0.716, 0.547, 0.411, 0.311, 0.249, 0.533, 0.956),
        ),
        _row("AA", "adaptive-attention", AA, AA_VALUES),
        _row("AA + CL", AA_CL, (*AA, *_further("cl")), CL_VALUES),
    ),
    claims=(
        Claim(
            "Section 5.3: CL improves both captioners.",
            (Greater("NT + CL(NT)", "NT", "CIDEr"), Greater("AA + CL", "AA", "CIDEr")),
        ),
        Claim("Section 5.3: a stronger reference teaches more.", (Greater("NT + CL(AA)", "NT + CL(NT)", "CIDEr"),)),
    ),
    notes=(*NOTES, "NeuralTalk2 reads the mean of the grid cells that AdaptiveAttention attends to."),
)

TABLE6 = Table(
    name="contrastive-captioning/table6",
    paper=PAPER,
    title="Table 6: the reference replaced by the best target",
    columns=COLUMNS,
    rows=(
        _row("run 0", "adaptive-attention", AA, AA_VALUES),
        _row("run 1", AA_CL, (*AA, *_further("cl")), CL_VALUES),
        _row(
            "run 2",
            "adaptive-attention-cl-twice",
            (*AA, *_further("cl"), *_further("cl-again")),
            (0.756, 0.598, 0.460, 0.353, 0.272, 0.559, 1.142),
        ),
    ),
    claims=(
        Claim("Section 5.3: the first run gains.", (Greater("run 1", "run 0", "CIDEr"),)),
        Claim(
            "Section 5.3: replacing the reference adds little (here: within 2 of CIDEr and 1 of BLEU-4).",
            (Within("run 2", "run 1", "CIDEr", 2.0), Within("run 2", "run 1", "B-4", 1.0)),
        ),
    ),
    notes=NOTES,
)

RATES = ("1e-6", "5e-6", "2e-5", "5e-5", "1e-4", "2e-4")


def _at(lr: str) -> Row:
    return table_row(f"rate {lr}", AA_CL, (*AA, *_further("cl"), f"cl.optimiser.lr={lr}"))


RATES_TABLE = Table(
    name="contrastive-captioning/rates",
    paper=PAPER,
    title="The effect of CL's learning rate",
    columns=COLUMNS,
    rows=(table_row("AA", "adaptive-attention", AA), *map(_at, RATES)),
    claims=(
        Claim(
            "At some learning rate CL improves self-retrieval (here: at 1e-4).",
            (Greater("rate 1e-4", "AA", "top-5"),),
        ),
        Claim("At some learning rate CL improves captions (here: at 1e-4).", (Greater("rate 1e-4", "AA", "CIDEr"),)),
    ),
    seeds=1,
    notes=(
        *NOTES,
        "Not in the paper, which has one learning rate. The other tables have 2e-5, set before any was run.",
    ),
)

UP_DOWN = ("features=grid", *_likelihood("xe"), "xe.evaluation=captions")
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

TABLES = (TABLE1, TABLE3, TABLE4, TABLE5, TABLE6, RATES_TABLE, UP_DOWN_TABLE)
