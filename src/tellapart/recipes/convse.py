"""Recipes of the contrastive visual-semantic embeddings paper (ConVSE), and of the baselines it builds on.

Image side: one vector a picture. The papers train at 2e-4 for 15 epochs, then at 2e-5 for 15 more.
"""

from __future__ import annotations

from tellapart.data.sampling import Sampling
from tellapart.losses import Contrast
from tellapart.matching.vse import VSE
from tellapart.objectives.ranking import Ranking
from tellapart.training.recipe import Optimiser, Recipe, Schedule, Stage

VSE_PLUS_PLUS = Recipe(
    name="vse++",
    paper="ConVSE, Eq. 5; Faghri et al. 2018",
    about="GRU and linear picture encoder, hardest negative in the batch, sum over the batch.",
    features="vector",
    stages=(
        Stage(
            name="base",
            model=VSE(),
            objective=Ranking(Contrast("hardest-negative-hinge", reduction="sum")),
            sampling=Sampling(batch=128),
            optimiser=Optimiser(rate=2e-4),
            schedule=Schedule("step", every=15, factor=0.1),
            epochs=30,
            clip_norm=2.0,
            evaluation="retrieval",
            monitor="rsum",
        ),
    ),
)

RECIPES = (VSE_PLUS_PLUS,)
