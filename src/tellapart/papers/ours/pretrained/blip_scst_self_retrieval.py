"""BLIP tuned by rewards: CIDEr-D of sampled captions, and how well a matcher finds the image again from them among the
images of the batch (grounded captioning paper, Eqs. 17-19).

    tellapart train blip-scst-self-retrieval --start hf:FOLDER --data PACK --out RUN

The judge is the bundled matcher; `--set train.objective.rewards.judge=hf:FOLDER` names another.
"""

from tellapart.data.feature_choice import NO_FEATURES
from tellapart.models.captioners.pretrained import PretrainedCaptioner
from tellapart.objectives.rewards import Rewards
from tellapart.objectives.self_critical import SelfCritical
from tellapart.papers.ours.pretrained.stages import BLIP, captioner_stage
from tellapart.runs.recipe import Recipe

RECIPE = Recipe(
    name="blip-scst-self-retrieval",
    paper="Ours: pretrained; grounded captioning, Eqs. 17-19",
    about="A pretrained captioner tuned with CIDEr-D and self-retrieval as rewards.",
    features=NO_FEATURES,
    stages=(
        captioner_stage(
            PretrainedCaptioner(BLIP),
            SelfCritical(
                Rewards(cider=1.0, judge="bundled:matcher", retrieval=1.0),
                baseline="leave-one-out",
                samples=5,
                reread=True,
            ),
            captions_each=1,
        ),
    ),
)
