"""Tables of the contrastive captioning paper (CL), for a data set as small as Flickr8k."""

from __future__ import annotations

from tellapart.papers.contrastive_captioning.coco_tables import TABLES as COCO_TABLES
from tellapart.papers.contrastive_captioning.rate_tables import RATES_TABLE, UP_DOWN_TABLE
from tellapart.papers.contrastive_captioning.small_scale import NOTES, SETTINGS, SMALL
from tellapart.papers.contrastive_captioning.table_parts import (
    CLAIMS1,
    CLAIMS5,
    CLAIMS6,
    COLUMNS,
    CONTROL,
    NONE,
    PAPER,
    claims4,
    rows1,
    rows4,
    rows5,
    rows6,
)
from tellapart.papers.rows import table_row
from tellapart.reproduce.caption_columns import TEXT_METRICS, percent
from tellapart.reproduce.table import Claim, Greater, Table

INSTAPIC = "InstaPIC-1.1M"
SEEDS = 5

TABLE1 = Table(
    name="contrastive-captioning/table1",
    paper=PAPER,
    title="Table 1: self-retrieval and captioning",
    columns=COLUMNS,
    rows=rows1(SMALL),
    claims=CLAIMS1,
    seeds=SEEDS,
    notes=NOTES,
    beyond=(
        (
            "Table 2: CL improves its base on COCO's test server.",
            "the captions of its images, which are not public",
        ),
        (
            "Table 3: CL improves its base on InstaPIC-1.1M.",
            "InstaPIC-1.1M; our table3 has one caption per image of Flickr8k instead",
        ),
    ),
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
            SMALL.first("aa"),
            {INSTAPIC: (*percent(0.065, 0.026, 0.011, 0.005, 0.029, 0.093, 0.126), *NONE)},
        ),
        table_row(
            "AA + CL",
            "adaptive-attention-cl",
            (*SMALL.first("aa"), *SMALL.later("cl")),
            {INSTAPIC: (*percent(0.072, 0.028, 0.013, 0.006, 0.032, 0.101, 0.144), *NONE)},
        ),
        SMALL.aa("AA, continued", "adaptive-attention-continued", "continued"),
    ),
    claims=(
        Claim(
            "Section 5.3: with one caption per image, CL gains in every metric.",
            tuple(Greater("AA + CL", "AA", column.name) for column in TEXT_METRICS),
        ),
        Claim(
            "Our control: with one caption per image, CL gains more than as many further steps of likelihood.",
            tuple(Greater("AA + CL", "AA, continued", column) for column in ("CIDEr", "top-5")),
        ),
    ),
    seeds=SEEDS,
    notes=(
        "InstaPIC-1.1M is not available. This table is for a pack with one caption per training image, which `python "
        "-m tellapart.cli.fewer_captions PACK OUT` makes from any other pack. Its validation and test images keep all "
        "their captions, so that metrics stay comparable. In a batch, the one caption of a training image occurs five "
        "times.",
        "Values in percent. The paper's are on InstaPIC-1.1M, without self-retrieval.",
        SETTINGS,
        CONTROL,
    ),
)

TABLE4 = Table(
    name="contrastive-captioning/table4",
    paper=PAPER,
    title="Table 4: methods after maximum likelihood",
    columns=COLUMNS,
    rows=(
        *rows4(SMALL),
        table_row(
            "AA + CL, the paper's learning rate",
            "adaptive-attention-cl",
            (*SMALL.first("aa"), *SMALL.later("cl"), "cl.optimiser.lr=1e-6"),
        ),
    ),
    claims=claims4(),
    seeds=SEEDS,
    notes=NOTES,
)

TABLE5 = Table(
    name="contrastive-captioning/table5",
    paper=PAPER,
    title="Table 5: target and reference",
    columns=COLUMNS,
    rows=rows5(SMALL),
    claims=CLAIMS5,
    seeds=SEEDS,
    notes=(*NOTES, "NeuralTalk2 reads the mean of the grid cells that AdaptiveAttention attends to."),
)

TABLE6 = Table(
    name="contrastive-captioning/table6",
    paper=PAPER,
    title="Table 6: the reference replaced by the best target",
    columns=COLUMNS,
    rows=rows6(SMALL),
    claims=CLAIMS6,
    seeds=SEEDS,
    notes=NOTES,
)

TABLES = (TABLE1, TABLE3, TABLE4, TABLE5, TABLE6, RATES_TABLE, UP_DOWN_TABLE, *COCO_TABLES)
