"""CLIP tuned with its own loss, InfoNCE: the row that the other recipes are compared with.

tellapart train clip-plain --start hf:FOLDER --data PACK --out RUN
"""

from tellapart.data.feature_choice import NO_FEATURES
from tellapart.losses import Contrast
from tellapart.models.matchers.pretrained import Pretrained
from tellapart.objectives.ranking import Ranking
from tellapart.papers.ours.pretrained.stages import CLIP, matcher_stage
from tellapart.runs.recipe import Recipe

RECIPE = Recipe(
    name="clip-plain",
    paper="Ours: pretrained; Radford et al. 2021",
    about="A pretrained dual encoder tuned with InfoNCE and adapters.",
    features=NO_FEATURES,
    stages=(matcher_stage(Pretrained(CLIP), Ranking(Contrast("info-nce", temperature=0.05))),),
)
