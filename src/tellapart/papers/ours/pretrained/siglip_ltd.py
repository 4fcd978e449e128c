"""SigLIP tuned with InfoNCE and latent target decoding, as `clip-ltd`; its text is padded to its full length.

tellapart annotate PACK --sentence-targets minilm
tellapart train siglip-ltd --start hf:FOLDER --data PACK --out RUN
"""

from tellapart.data.feature_choice import NO_FEATURES
from tellapart.losses import Contrast
from tellapart.models.matchers.pretrained import Pretrained
from tellapart.objectives.extra_loss import Joining
from tellapart.objectives.latent_target import LatentTarget
from tellapart.papers.ours.pretrained.stages import SIGLIP, TARGETS, matcher_stage
from tellapart.runs.recipe import Recipe

RECIPE = Recipe(
    name="siglip-ltd",
    paper="Ours: pretrained; LTD, section 3.4",
    about="SigLIP tuned with InfoNCE and latent target decoding as a constraint.",
    features=NO_FEATURES,
    stages=(
        matcher_stage(
            Pretrained(SIGLIP, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5)),
            LatentTarget(Contrast("info-nce", temperature=0.05), Joining(bound=0.2), TARGETS),
            (TARGETS,),
        ),
    ),
)
