"""CLIP tuned with InfoNCE, under the constraint that a caption's vector still predicts its MiniLM vector (LTD paper,
Eqs. 5, 8 and 9): against the suppression of features that few negatives need.

    tellapart annotate PACK --sentence-targets minilm
    tellapart train clip-ltd --start hf:FOLDER --data PACK --out RUN
"""

from tellapart.data.feature_choice import NO_FEATURES
from tellapart.losses import Contrast
from tellapart.models.matchers.pretrained import Pretrained
from tellapart.objectives.extra_loss import Joining
from tellapart.objectives.latent_target import LatentTarget
from tellapart.papers.ours.pretrained.stages import CLIP, TARGETS, matcher_stage
from tellapart.runs.recipe import Recipe

RECIPE = Recipe(
    name="clip-ltd",
    paper="Ours: pretrained; LTD, section 3.4",
    about="A pretrained dual encoder tuned with InfoNCE and latent target decoding as a constraint.",
    features=NO_FEATURES,
    stages=(
        matcher_stage(
            Pretrained(CLIP),
            LatentTarget(Contrast("info-nce", temperature=0.05), Joining(bound=0.2), TARGETS),
            (TARGETS,),
        ),
    ),
)
