"""CLIP with ConVSE's projection heads, which start as the identity (ConVSE paper, Algorithm 1, Eqs. 12-14).

    tellapart train clip-convse --start hf:FOLDER --data PACK --out RUN --set train.model.heads=1024

The heads are twice as wide as the embedding, which is 512 for CLIP's base models.
"""

from tellapart.data.feature_choice import NO_FEATURES
from tellapart.losses import Contrast
from tellapart.models.matchers.pretrained import Pretrained
from tellapart.objectives.ranking import Ranking
from tellapart.papers.ours.pretrained.stages import CLIP, matcher_stage
from tellapart.runs.recipe import Recipe

RECIPE = Recipe(
    name="clip-convse",
    paper="Ours: pretrained; ConVSE, Eqs. 12-14",
    about="A pretrained dual encoder with ConVSE++ heads that start as the identity.",
    features=NO_FEATURES,
    stages=(
        matcher_stage(
            Pretrained(CLIP, heads=1024), Ranking(Contrast("hardest-negative-contrast", margin=0.1, temperature=0.05))
        ),
    ),
)
