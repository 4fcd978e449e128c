"""BLIP tuned by contrast with itself: true pairs become likelier than under the frozen original, mismatched pairs less
likely (contrastive captioning paper, Eqs. 7-10).

    tellapart train blip-cl --start hf:FOLDER --data PACK --out RUN
"""

from tellapart.data.feature_choice import NO_FEATURES
from tellapart.models.captioners.pretrained import PretrainedCaptioner
from tellapart.objectives.reference_contrast import ReferenceContrastLearning
from tellapart.papers.ours.pretrained.stages import BLIP, captioner_stage
from tellapart.runs.recipe import Recipe

RECIPE = Recipe(
    name="blip-cl",
    paper="Ours: pretrained; contrastive captioning, Eqs. 7-10",
    about="A pretrained captioner tuned by contrast with its frozen original.",
    features=NO_FEATURES,
    stages=(captioner_stage(PretrainedCaptioner(BLIP), ReferenceContrastLearning(reference="start", rounds=2)),),
)
