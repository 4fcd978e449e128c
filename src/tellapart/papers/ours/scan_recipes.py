"""Further variants of SCAN besides those of the grounded captioning paper (see grounded_captioning): directions, cells.

Lee et al. 2018: text-to-image attends with temperature 9, image-to-text with 4; comparisons are averaged, or joined by
a log-sum-exp of sharpness 6; the two directions together are the strongest.
"""

from __future__ import annotations

from dataclasses import replace

from tellapart.models.matchers.scan import SCAN
from tellapart.papers.grounded_captioning.recipes import matcher_stage
from tellapart.runs.recipe import Recipe


def _recipe(name: str, about: str, model: SCAN, features: str) -> Recipe:
    return Recipe(
        name=name,
        paper="Lee et al. 2018; grounded captioning, Eqs. 1-8",
        about=about,
        features=features,
        stages=(replace(matcher_stage("scan", nouns=model.nouns), model=model),),
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
)
