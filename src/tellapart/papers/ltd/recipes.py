"""Recipes of the latent target decoding paper (LTD): baseline, ITD and LTD with both losses, and on VSRN and TERN.

Section 4.2: 30 epochs of warm-up with frozen word vectors (and CNN) and 30 of fine-tuning, batches of 128, cosine from
2e-4, the weights of each epoch's last tenth averaged. AdamP, clipping and noise on words are the released code's. The
released second phase is meant to start at a tenth of the learning rate and to fall, but its schedule makes it rise from
zero to 2e-4 instead. The recipes do the former; the table ltd/rising-rate shows the latter.
GloVe has 50 dimensions, since these come as a package; the paper has 300.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tellapart.data.sampling import Sampling
from tellapart.losses import Contrast
from tellapart.models.matchers.ltd_baseline import LTDBaseline
from tellapart.models.matchers.tern import TERN
from tellapart.models.matchers.vsrn import VSRN
from tellapart.objectives.extra_loss import Joining
from tellapart.objectives.input_target import InputTarget
from tellapart.objectives.latent_target import LatentTarget
from tellapart.objectives.ranking import Ranking
from tellapart.runs.recipe import Average, Optimiser, Recipe, Schedule, Stage

TARGETS = "targets-minilm"
INFO_NCE = Contrast("info-nce", temperature=0.05)  # Eq. 1, both directions
TRIPLET = Contrast("hardest-negative-hinge", margin=0.2, reduction="sum")
DUAL = Joining(weight=1.0)  # Eq. 7
LATENT_BOUND, INPUT_BOUND = 0.2, 6.0
"""The paper's best eta on Flickr30k: of latent targets, and of input targets."""
MULTIPLIER_LR = 5e-3
"""The paper's learning rate of lambda, over the 68,000 steps that its 60 epochs of Flickr30k take."""
FEW_STEPS = 29_000 / 6_000
"""Training images of Flickr30k per image of Flickr8k: by this, a training on Flickr8k has fewer steps."""


def joining(contrast: Contrast, bound: float = 0.0) -> Joining:
    """How L_rec joins a ranking loss: next to a sum over pairs, it is a sum too.

    A mean next to the sum of 128 pairs would have 1/268 of its gradient, and lambda would take 128 times as many steps
    to make up for it. With a sum, lambda's learning rate also follows the number of steps.
    """
    if contrast.reduction != "sum":
        return Joining(bound=bound)
    return Joining(bound=bound, summed=True, multiplier_lr=round(MULTIPLIER_LR * FEW_STEPS, 4))


def objectives(contrast: Contrast) -> dict[str, Any]:
    """Every objective of Table 1, by the ending of the recipe's name."""
    return {
        "": Ranking(contrast),
        "-itd-dual": InputTarget(contrast, joining(contrast)),
        "-itd": InputTarget(contrast, joining(contrast, INPUT_BOUND)),
        "-ltd-dual": LatentTarget(contrast, joining(contrast), TARGETS),
        "-ltd": LatentTarget(contrast, joining(contrast, LATENT_BOUND), TARGETS),
    }


def sampling_for(objective: Any, batch: int) -> Sampling:
    """Batches with the sentence targets, if the objective needs them."""
    return Sampling(batch=batch, columns=(TARGETS,) if isinstance(objective, LatentTarget) else ())


PAPERS = LTDBaseline(word_width=50, word_vectors="glove-50", replace_words=0.1, delete_words=0.1)
"""The paper's encoder: frozen word vectors, heads of two layers."""
LEARNED = LTDBaseline(word_width=300, linear_heads=True, replace_words=0.1, delete_words=0.1)
"""A stronger one: learned words, heads of one layer."""


def two_phases(objective: Any, model: LTDBaseline) -> tuple[Stage, Stage]:
    """Warm-up, with frozen word vectors if they are given, then fine-tuning."""
    warm_up = Stage(
        name="warm-up",
        model=model,
        objective=objective,
        sampling=sampling_for(objective, 128),
        optimiser=Optimiser("adamp", lr=2e-4),
        schedule=Schedule("cosine"),
        epochs=30,
        clip_norm=2.0,
        average=Average("epoch"),
        frozen=("text.words",) if model.word_vectors else (),
        evaluation="retrieval",
        monitor="rsum",
        keep="last",
        keep_objective=True,
    )
    fine_tune = replace(
        warm_up,
        name="fine-tune",
        model=None,
        start="previous",
        optimiser=Optimiser("adamp", lr=2e-5),
        frozen=(),
        keep="best",
        keep_objective=False,
    )
    return warm_up, fine_tune


def vsrn_stage(objective: Any) -> Stage:
    """VSRN with its schedule and LTD's two changes to the model; regions in the detector's order."""
    return Stage(
        name="train",
        model=VSRN(word_width=50, word_vectors="glove-50"),
        objective=objective,
        sampling=sampling_for(objective, 128),
        optimiser=Optimiser(lr=2e-4),
        schedule=Schedule("step", every=15, factor=0.1),
        epochs=30,
        clip_norm=2.0,
        evaluation="retrieval",
        monitor="rsum",
    )


def tern_stage(objective: Any) -> Stage:
    """A smaller TERN whose text side is trained from scratch, so that the paper's 2e-6 for a pretrained BERT is too
    low."""
    return Stage(
        name="train",
        model=TERN(embedding=512, text_layers=3, word_width=512, region_width=512, hidden=1024),
        objective=objective,
        sampling=sampling_for(objective, 128),
        optimiser=Optimiser(lr=1e-4),
        schedule=Schedule("step", every=20, factor=0.1, warmup_steps=1000),
        epochs=30,
        clip_norm=2.0,
        evaluation="retrieval",
        monitor="rsum",
    )


def warmed(stage: Stage) -> tuple[Stage, Stage]:
    """Three epochs against all negatives first. From scratch, the hardest negative alone can lead to a model that
    scores all pairs the same and has no gradient."""
    all_negatives = Ranking(Contrast("sum-of-hinges", margin=0.2, reduction="sum"))
    first = replace(
        stage,
        name="warm-up",
        objective=all_negatives,
        sampling=sampling_for(all_negatives, 128),
        schedule=Schedule("constant", warmup_steps=stage.schedule.warmup_steps),
        epochs=3,
        keep="last",
    )
    return first, replace(stage, model=None, start="previous", schedule=replace(stage.schedule, warmup_steps=0))


ABOUT = {
    "": "the contrastive loss alone",
    "-itd-dual": "plus decoding the caption, as dual loss",
    "-itd": f"plus decoding the caption, held below {INPUT_BOUND:g}",
    "-ltd-dual": "plus decoding the caption's MiniLM vector, as dual loss",
    "-ltd": f"plus decoding the caption's MiniLM vector, held below {LATENT_BOUND:g}",
}
EXPECTED = {
    "ltd-baseline": (47.4, 33.9),
    "ltd-baseline-itd-dual": (45.7, 33.7),
    "ltd-baseline-itd": (36.6, 27.8),
    "ltd-baseline-ltd-dual": (46.1, 34.0),
    "ltd-baseline-ltd": (49.6, 36.7),
    "ltd-triplet": (12.8, 11.1),
    "ltd-triplet-ltd-dual": (17.1, 13.1),
    "ltd-triplet-ltd": (54.7, 40.8),
    "vsrn": (60.3, 44.9),
    "vsrn-ltd-dual": (59.6, 44.3),
    "vsrn-ltd": (61.9, 45.3),
}
"""R@1 of image to text and back on Flickr30k."""


def _recipe(name: str, paper: str, about: str, features: str, stages: tuple[Stage, ...]) -> Recipe:
    expected = "Paper, Flickr30k: R@1 {} and {}.".format(*EXPECTED[name]) if name in EXPECTED else ""
    return Recipe(name=name, paper=paper, about=about, features=features, stages=stages, expected=expected)


BASELINES = tuple(
    _recipe(
        f"{start}{ending}",
        paper,
        f"Pooled features, bi-GRU over GloVe, {loss}: {ABOUT[ending]}.",
        "vector",
        two_phases(objective, replace(PAPERS, batch_norm=contrast is TRIPLET)),
    )
    for start, paper, loss, contrast in (
        ("ltd-baseline", "LTD, Table 1", "InfoNCE", INFO_NCE),
        ("ltd-triplet", "LTD, Table 2", "hardest triplet and batch norm", TRIPLET),
    )
    for ending, objective in objectives(contrast).items()
)
LATENT_ONLY = ("", "-ltd-dual", "-ltd")
STRONGER = tuple(
    _recipe(
        f"{start}{ending}",
        "LTD, Tables 1 and 2, with an encoder of ours",
        f"Learned words of 300 and linear heads, {loss}: {ABOUT[ending]}.",
        "vector",
        two_phases(objectives(contrast)[ending], replace(LEARNED, batch_norm=contrast is TRIPLET)),
    )
    for start, loss, contrast in (
        ("ltd-learned", "InfoNCE", INFO_NCE),
        ("ltd-learned-triplet", "hardest triplet and batch norm", TRIPLET),
    )
    for ending in LATENT_ONLY
)
VSRNS = tuple(
    _recipe(
        f"vsrn{ending}",
        "LTD, Table 3; Li et al. 2019",
        f"Regions reason in a graph, a GRU reads them: {ABOUT[ending]}.",
        "regions",
        (vsrn_stage(objectives(TRIPLET)[ending]),),
    )
    for ending in LATENT_ONLY
)
VSRN_DECODER = _recipe(
    "vsrn-decoder",
    "Li et al. 2019, as published",
    "The original VSRN: width 2048, one-way GRU, and a decoder that generates the caption from the regions.",
    "regions",
    (
        replace(
            vsrn_stage(InputTarget(TRIPLET, DUAL, from_regions=True)),
            model=VSRN(embedding=2048, text="gru", normalisation="regions"),
        ),
    ),
)
TERNS = tuple(
    _recipe(
        f"tern{ending}",
        "LTD, Table 3; Messina et al. 2020",
        f"Transformers over regions and over words (from scratch), shared layers: {ABOUT[ending]}.",
        "regions",
        (tern_stage(objectives(TRIPLET)[ending]),),
    )
    for ending in LATENT_ONLY
)
WARMED = tuple(
    replace(
        recipe,
        name=recipe.name.replace(model, f"{model}-warmed"),
        about=f"{recipe.about} After three epochs against all negatives.",
        stages=warmed(recipe.stages[0]),
        expected="",
    )
    for model, recipes in (("vsrn", VSRNS), ("tern", TERNS))
    for recipe in recipes
)
TERN_MINILM = _recipe(
    "tern-minilm",
    "LTD, Table 3; Messina et al. 2020",
    "TERN with a pretrained language encoder (MiniLM) for its text side, fine-tuned at a twentieth of the learning "
    "rate.",
    "regions",
    (
        replace(
            tern_stage(objectives(TRIPLET)[""]),
            model=TERN(embedding=512, bert="minilm", region_width=512, hidden=1024),
            optimiser=Optimiser(lr=1e-4, scaled=(("bert", 0.05),)),
        ),
    ),
)

RECIPES = (*BASELINES, *STRONGER, *VSRNS, VSRN_DECODER, *TERNS, *WARMED, TERN_MINILM)
