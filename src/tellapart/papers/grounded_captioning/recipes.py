"""Recipes of the grounded captioning paper: two matchers, Up-Down under each supervision, SCST with each reward.

Settings are those of section 4.2; others are the released code's: 30 epochs at 5e-4 times 0.8 every three, gradients
clamped to 0.1, batches of 29 images with five captions each, captions cut to 16 words, scheduled sampling up to a
quarter; then 80 epochs of SCST at 5e-5. The matchers are trained as in SCAN's code. All recipes whose name begins with
`grounded-` begin with both matchers, so that a table trains each only once. A single recipe need not train a matcher
that it does not use (`train --stages`; `reproduce` does so by itself)."""

from __future__ import annotations

from tellapart.data.sampling import Sampling
from tellapart.losses import Contrast
from tellapart.models.captioners.adaptive_attention import AdaptiveAttention
from tellapart.models.captioners.up_down import UpDown
from tellapart.models.matchers.scan import SCAN
from tellapart.objectives.distillation import Distillation
from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.ranking import Ranking
from tellapart.objectives.rewards import Rewards
from tellapart.objectives.self_critical import SelfCritical
from tellapart.runs.recipe import Optimiser, Recipe, Schedule, Stage

LONGEST = 16
WORDS = Likelihood(sampling_most=0.25)
SUPERVISIONS: dict[str, Likelihood | Distillation] = {
    "none": WORDS,
    "boxes": Distillation("boxes", "nll", likelihood=WORDS),
    "scan": Distillation("scan", likelihood=WORDS),
    "pos-scan": Distillation("pos-scan", likelihood=WORDS),
}
"""What supervises the attention of Up-Down in its first stage; lambda_1 is 0.1."""
BEST_REGION = Distillation("pos-scan", "nll", weight=0.03, among="sure", likelihood=WORDS)
"""Ours: among sure detections, the region that POS-SCAN would choose is the target, as with true boxes."""
REWARDS = {
    "cider": Rewards(),
    "cider-scan": Rewards(matcher="scan"),
    "cider-pos-scan": Rewards(matcher="pos-scan"),
}
"""The reward of a caption in the second stage (Eq. 19); lambda_2 is 1."""


def matcher_stage(name: str, nouns: bool) -> Stage:
    """Eqs. 1-8: margin 0.2, hardest negative in batches of 128, 2e-4 and a tenth of it after 15 of 30 epochs."""
    return Stage(
        name=name,
        model=SCAN(nouns=nouns),
        objective=Ranking(Contrast("hardest-negative-hinge", reduction="sum")),
        sampling=Sampling(batch=128, columns=("nouns",) if nouns else ()),
        optimiser=Optimiser(lr=2e-4),
        schedule=Schedule("step", every=15, factor=0.1),
        epochs=30,
        clip_norm=2.0,
        evaluation="retrieval",
        monitor="rsum",
    )


def words_stage(objective: Likelihood | Distillation, model: UpDown | AdaptiveAttention) -> Stage:
    """Eqs. 15 and 16: true captions, with or without supervised attention."""
    return Stage(
        name="xe",
        model=model,
        objective=objective,
        sampling=Sampling(batch=29, captions_each=5, longest=LONGEST),
        optimiser=Optimiser(lr=5e-4),
        schedule=Schedule("step", every=3, factor=0.8),
        epochs=30,
        clip_value=0.1,
        evaluation="grounding",
        monitor="cider",
    )


def reward_stage(rewards: Rewards) -> Stage:
    """Eqs. 17-19: five sampled captions per image against the greedy one. Attention is no longer supervised."""
    return Stage(
        name="scst",
        start="xe",
        objective=SelfCritical(rewards),
        sampling=Sampling(batch=29, what="images", longest=LONGEST),
        optimiser=Optimiser(lr=5e-5),
        epochs=80,
        clip_value=0.1,
        evaluation="grounding",
        monitor="cider",
        evaluate_every=2,
    )


TEACHERS = (matcher_stage("scan", nouns=False), matcher_stage("pos-scan", nouns=True))

PUBLISHED = {
    "none": (57.1, 5.11, 14.67),
    "boxes": (58.9, 8.33, 23.09),
    "scan": (58.8, 4.49, 13.49),
    "pos-scan": (58.0, 6.47, 17.96),
    "none-cider": (67.1, 4.19, 10.71),
    "none-cider-scan": (67.5, 4.59, 12.81),
    "none-cider-pos-scan": (64.9, 5.37, 13.88),
    "boxes-cider": (67.5, 7.53, 18.40),
    "boxes-cider-scan": (67.0, 8.35, 20.75),
    "boxes-cider-pos-scan": (64.4, 8.01, 19.48),
    "scan-cider": (67.4, 4.72, 13.47),
    "scan-cider-scan": (67.8, 4.77, 12.25),
    "scan-cider-pos-scan": (67.5, 5.34, 14.79),
    "pos-scan-cider": (67.5, 6.62, 16.97),
    "pos-scan-cider-scan": (68.2, 7.30, 18.44),
    "pos-scan-cider-pos-scan": (64.3, 7.63, 18.33),
}
"""CIDEr, F1_all and F1_loc of Table 2."""
SUPERVISED_BY = {
    "none": "without supervised attention",
    "boxes": "attention supervised by true boxes",
    "scan": "attention supervised by SCAN",
    "pos-scan": "attention supervised by POS-SCAN",
}
REWARDED_BY = {"cider": "CIDEr", "cider-scan": "CIDEr + SCAN", "cider-pos-scan": "CIDEr + POS-SCAN"}


def _expected(key: str) -> str:
    cider, f1_all, f1_loc = PUBLISHED[key]
    return f"Paper, Flickr30k Entities val: CIDEr {cider}, F1_all {f1_all}, F1_loc {f1_loc}."


def first_stage_recipe(supervision: str) -> Recipe:
    """A recipe of the first stage, on true captions."""
    return Recipe(
        name=f"grounded-{supervision}",
        paper="Grounded captioning, Table 2, XE Pre-Train",
        about=f"Up-Down on true captions; {SUPERVISED_BY[supervision]}.",
        features="regions",
        stages=(*TEACHERS, words_stage(SUPERVISIONS[supervision], UpDown())),
        expected=_expected(supervision),
    )


def second_stage_recipe(supervision: str, reward: str) -> Recipe:
    """A recipe of both stages."""
    return Recipe(
        name=f"grounded-{supervision}-{reward}",
        paper="Grounded captioning, Table 2, SCST Fine-Tune",
        about=f"Up-Down, {SUPERVISED_BY[supervision]}; then SCST with {REWARDED_BY[reward]}.",
        features="regions",
        stages=(*TEACHERS, words_stage(SUPERVISIONS[supervision], UpDown()), reward_stage(REWARDS[reward])),
        expected=_expected(f"{supervision}-{reward}"),
    )


MATCHERS = (
    Recipe(
        name="scan",
        paper="Grounded captioning, Table 1; Lee et al. 2018",
        about="Words attend to regions; hardest negative in the batch.",
        features="regions",
        stages=TEACHERS[:1],
        expected="Paper, Flickr30k Entities val: attention accuracy 17.63.",
    ),
    Recipe(
        name="pos-scan",
        paper="Grounded captioning, Eq. 8, Table 1",
        about="SCAN in which only nouns count.",
        features="regions",
        stages=TEACHERS[1:],
        expected="Paper, Flickr30k Entities val: attention accuracy 28.58.",
    ),
    Recipe(
        name="grounded-matchers",
        paper="Grounded captioning, Table 1",
        about="SCAN, then POS-SCAN: the first stages of all grounded- recipes. The run's model is POS-SCAN.",
        features="regions",
        stages=TEACHERS,
    ),
)

CAPTIONERS = (
    Recipe(
        name="up-down",
        paper="Grounded captioning, section 3.2; Anderson et al. 2018",
        about="Up-Down on true captions, by itself.",
        features="regions",
        stages=(words_stage(WORDS, UpDown()),),
        expected=_expected("none"),
    ),
    Recipe(
        name="up-down-scst",
        paper="Grounded captioning, Table 2; Rennie et al. 2017",
        about="Up-Down on true captions, then SCST with CIDEr.",
        features="regions",
        stages=(words_stage(WORDS, UpDown()), reward_stage(REWARDS["cider"])),
        expected=_expected("none-cider"),
    ),
    Recipe(
        name="grounded-best-region",
        paper="Grounded captioning, with a loss of ours",
        about="Up-Down learns POS-SCAN's best region among sure detections: the best attention in our runs.",
        features="regions",
        stages=(*TEACHERS, words_stage(BEST_REGION, UpDown())),
    ),
    Recipe(
        name="adaptive-attention-pos-scan",
        paper="Grounded captioning, Eq. 15, with the CL paper's captioner",
        about="POS-SCAN supervises the attention of AdaptiveAttention, which may also attend to no region.",
        features="regions",
        stages=(TEACHERS[1], words_stage(SUPERVISIONS["pos-scan"], AdaptiveAttention())),
    ),
)

RECIPES = (
    *MATCHERS,
    *CAPTIONERS,
    *(first_stage_recipe(supervision) for supervision in SUPERVISIONS),
    *(second_stage_recipe(supervision, reward) for supervision in SUPERVISIONS for reward in REWARDS),
)
