"""CLIP tuned with the hardest negative of each batch (VSE++; ConVSE paper, Eq. 5).

tellapart train clip-hard-negatives --start hf:FOLDER --data PACK --out RUN
"""

from tellapart.data.feature_choice import NO_FEATURES
from tellapart.losses import Contrast
from tellapart.models.matchers.pretrained import Pretrained
from tellapart.objectives.ranking import Ranking
from tellapart.papers.ours.pretrained.stages import CLIP, matcher_stage
from tellapart.runs.recipe import Recipe

RECIPE = Recipe(
    name="clip-hard-negatives",
    paper="Ours: pretrained; ConVSE, Eq. 5",
    about="A pretrained dual encoder tuned with the hardest negative of each batch.",
    features=NO_FEATURES,
    stages=(matcher_stage(Pretrained(CLIP), Ranking(Contrast("hardest-negative-hinge", margin=0.1))),),
)
