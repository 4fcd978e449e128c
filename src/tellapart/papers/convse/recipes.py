"""Recipes of the contrastive visual-semantic embeddings paper (ConVSE), and of the baselines it builds on.

Section IV-A3: a base of 30 epochs (2e-4, after 15 epochs 2e-5; batches of 128), 15 epochs of fine-tuning at 2e-5, then
heads on both sides, trained with everything but the CNN for 30 epochs at 2e-5 in batches of 256. Images are one
vector each, so the CNN is never fine-tuned here: fine-tuning continues with everything above it.
The released command trains the heads at 2e-4: `convse-code` and `convse++-code`.
"""

from __future__ import annotations

from dataclasses import replace

from tellapart.data.sampling import Sampling
from tellapart.losses import Contrast
from tellapart.models.matchers.vse import VSE
from tellapart.objectives.ranking import Ranking
from tellapart.runs.recipe import Optimiser, Recipe, Schedule, Stage

HARDEST_HINGE = Contrast("hardest-negative-hinge", reduction="sum")  # Eq. 5
SUM_OF_HINGES = Contrast("sum-of-hinges", reduction="sum")  # Eq. 2
MULTIMODAL = Contrast("multimodal", temperature=0.1)  # SimCLR's loss over both modalities, section III-B
SUM_OF_NEGATIVES = Contrast("info-nce", temperature=0.1, directions="added")  # Eqs. 6-8
HARDEST_NEGATIVE = Contrast("hardest-negative-contrast", margin=0.2, temperature=0.1)  # Eqs. 12-14


def base(contrast: Contrast) -> Stage:
    """The base embedding, from scratch."""
    return Stage(
        name="base",
        model=VSE(),
        objective=Ranking(contrast),
        sampling=Sampling(batch=128),
        optimiser=Optimiser(lr=2e-4),
        schedule=Schedule("step", every=15, factor=0.1),
        epochs=30,
        clip_norm=2.0,
        evaluation="retrieval",
        monitor="rsum",
    )


def fine_tune(contrast: Contrast) -> Stage:
    """The base again, from its best epoch, at a tenth of the learning rate."""
    return replace(
        base(contrast),
        name="fine-tune",
        model=None,
        start="previous",
        optimiser=Optimiser(lr=2e-5),
        schedule=Schedule(),
        epochs=15,
    )


def heads(contrast: Contrast, lr: float = 2e-5, start: str = "independent") -> Stage:
    """Projection heads on top of the fine-tuned base; all weights learn."""
    return replace(
        fine_tune(contrast),
        name="heads",
        model=VSE(heads=2048, heads_start=start),
        sampling=Sampling(batch=256),
        optimiser=Optimiser(lr=lr),
        epochs=30,
    )


def joint(contrast: Contrast, lr: float = 2e-5, start: str = "independent") -> tuple[Stage, ...]:
    """Base and fine-tuning with the VSE++ loss, then heads with a loss of the paper's."""
    return (base(HARDEST_HINGE), fine_tune(HARDEST_HINGE), heads(contrast, lr, start))


VSE_PLUS_PLUS = Recipe(
    name="vse++",
    paper="ConVSE, Eq. 5; Faghri et al. 2018",
    about="GRU and linear image encoder, hardest negative in the batch, sum over the batch.",
    stages=(base(HARDEST_HINGE),),
)
VSE_SUM = Recipe(
    name="vse",
    paper="ConVSE, Eq. 2; Kiros et al. 2014",
    about="The same encoders with a hinge over all negatives.",
    stages=(base(SUM_OF_HINGES),),
)
MVN = Recipe(
    name="mvn",
    paper="ConVSE, section III-B; Alayrac et al. 2020",
    about="The same encoders with cross-entropy over negatives of both modalities.",
    stages=(base(MULTIMODAL),),
)
TUNED = tuple(
    Recipe(
        name=f"{recipe.name}-tuned",
        paper=f"ConVSE, Table III; {recipe.paper}",
        about=f"{recipe.name} and 15 more epochs at a tenth of the learning rate.",
        stages=(base(contrast), fine_tune(contrast)),
        expected=expected,
    )
    for recipe, contrast, expected in (
        (MVN, MULTIMODAL, "Paper, ResNet-152, R@sum: 445.9 on COCO (1K), 373.2 on Flickr30k."),
        (VSE_SUM, SUM_OF_HINGES, "Paper, ResNet-152, R@sum: 448.1 on COCO (1K), 367.8 on Flickr30k."),
        (VSE_PLUS_PLUS, HARDEST_HINGE, "Paper, ResNet-152, R@sum: 478.6 on COCO (1K), 409.8 on Flickr30k."),
    )
)
CONVSE = Recipe(
    name="convse",
    paper="ConVSE, Eqs. 6-8, Table III",
    about="VSE++ base, then heads with cross-entropy over the other modality's negatives.",
    stages=joint(SUM_OF_NEGATIVES),
    expected="Paper, ResNet-152, R@sum: 474.6 on COCO (1K), 413.1 on Flickr30k.",
)
CONVSE_PLUS_PLUS = Recipe(
    name="convse++",
    paper="ConVSE, Eqs. 12-14, Table III",
    about="VSE++ base, then heads with the hardest negative, margin and temperature.",
    stages=joint(HARDEST_NEGATIVE),
    expected="Paper, ResNet-152, R@sum: 483.6 on COCO (1K), 423.1 on Flickr30k.",
)
RELEASED = tuple(
    Recipe(
        name=f"{recipe.name}-code",
        paper=f"{recipe.paper}; released code",
        about=f"{recipe.name} with the learning rate of the released command for the heads, 2e-4.",
        stages=joint(contrast, lr=2e-4),
    )
    for recipe, contrast in ((CONVSE, SUM_OF_NEGATIVES), (CONVSE_PLUS_PLUS, HARDEST_NEGATIVE))
)
MVN_HEADS = Recipe(
    name="mvn-heads",
    paper="ConVSE, section III-B, with the heads of Algorithm 1",
    about="VSE++ base, then heads with cross-entropy over negatives of both modalities.",
    stages=joint(MULTIMODAL),
)
ALIKE = tuple(
    Recipe(
        name=f"{recipe.name}-{start}",
        paper=f"{recipe.paper}; heads that start alike are ours",
        about=f"{recipe.name} with heads that start as {what}.",
        stages=joint(contrast, start=start),
    )
    for recipe, contrast in (
        (CONVSE, SUM_OF_NEGATIVES),
        (CONVSE_PLUS_PLUS, HARDEST_NEGATIVE),
        (MVN_HEADS, MULTIMODAL),
    )
    for start, what in (("shared", "the same random map on both sides"), ("identity", "the identity"))
)

RECIPES = (VSE_PLUS_PLUS, VSE_SUM, MVN, *TUNED, CONVSE, CONVSE_PLUS_PLUS, *RELEASED, MVN_HEADS, *ALIKE)
