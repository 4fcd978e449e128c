"""Further variants of SCAN besides those of the grounded captioning paper (see grounded_captioning): directions, cells.

Lee et al. 2018: text-to-image attends with temperature 9, image-to-text with 4; comparisons are averaged, or joined by
a log-sum-exp of sharpness 6; the two directions together are the strongest.
"""

from __future__ import annotations

from dataclasses import replace

from tellapart.losses import Contrast
from tellapart.models.matchers.scan import SCAN
from tellapart.objectives.ranking import Ranking
from tellapart.papers.grounded_captioning.recipes import matcher_stage
from tellapart.runs.recipe import Recipe, Schedule, Stage

WARMUP_STEPS = 500
"""Two epochs of Flickr8k in batches of 128."""


def _recipe(name: str, about: str, model: SCAN, features: str) -> Recipe:
    return Recipe(
        name=name,
        paper="Lee et al. 2018; grounded captioning, Eqs. 1-8",
        about=about,
        features=features,
        stages=(replace(matcher_stage("scan", nouns=model.nouns), model=model),),
    )


def warmed(stage: Stage) -> tuple[Stage, ...]:
    """The learning rate rises linearly for the first steps. At full rate from the start, SCAN's first epochs lead to
    equal scores for all pairs, and it takes about five of 30 epochs to leave them."""
    return (replace(stage, schedule=replace(stage.schedule, warmup_steps=WARMUP_STEPS)),)


def after_all_negatives(stage: Stage) -> tuple[Stage, ...]:
    """One of the 30 epochs against all negatives first: they have a gradient where the hardest one has none."""
    first = replace(
        stage,
        name="all-negatives",
        objective=Ranking(Contrast("sum-of-hinges", reduction="mean")),
        schedule=Schedule("constant", warmup_steps=WARMUP_STEPS),
        epochs=1,
        keep="last",
    )
    return first, replace(stage, model=None, start="previous", epochs=stage.epochs - 1)


STARTS = {
    "warmed": (warmed, f"a learning rate that rises for {WARMUP_STEPS} steps"),
    "all-first": (after_all_negatives, "one epoch against all negatives first"),
}
WARMED = tuple(
    Recipe(
        name=f"{name}-{ending}",
        paper="Grounded captioning, Table 1; Lee et al. 2018; the start is ours",
        about=f"{title}, {how}.",
        features="regions",
        stages=make(replace(matcher_stage(name, model.nouns), model=model)),
    )
    for name, title, model in (
        ("scan", "SCAN", SCAN()),
        ("pos-scan", "POS-SCAN", SCAN(nouns=True)),
        ("pos-scan-code", "POS-SCAN as released", SCAN(nouns=True, compat="code")),
    )
    for ending, (make, how) in STARTS.items()
)

RECIPES = (
    _recipe("scan-i2t", "Regions attend to words.", SCAN(direction="i2t"), "regions"),
    _recipe(
        "scan-both",
        "Words attend to regions and regions to words; the mean of both.",
        SCAN(direction="both"),
        "regions",
    ),
    _recipe("scan-lse", "Words attend to regions; log-sum-exp over words.", SCAN(aggregation="logsumexp"), "regions"),
    _recipe("scan-grid", "Words attend to grid cells.", SCAN(), "grid"),
    _recipe("scan-grid-both", "Words and grid cells attend to each other.", SCAN(direction="both"), "grid"),
    _recipe("pos-scan-grid", "Only nouns count; they attend to grid cells.", SCAN(nouns=True), "grid"),
    *WARMED,
)
