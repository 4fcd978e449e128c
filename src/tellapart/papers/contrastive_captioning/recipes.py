"""Recipes of the contrastive captioning paper (CL): captioners by likelihood, and methods that start from them.

Settings are those of section 5.2: Adam, K = 5, nu = 1; others are the released code's: batches of 20 images with five
captions each, Adam betas 0.8 and 0.999, gradients clamped to 0.1, captions cut to 18 words. The paper's learning rate
after likelihood is 1e-6 for 20 epochs of 120,000 images (rate times steps is 0.12); 2e-5 here is for a few epochs of
6,000 images (0.03), and the tables have 2e-4. Every recipe begins with the stage of the captioner that it starts from,
so that a table trains it once. `*-continued` are controls: likelihood for as many further steps.
"""

from __future__ import annotations

from typing import Any

from tellapart.data.sampling import Sampling
from tellapart.models.captioners.adaptive_attention import AdaptiveAttention
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.models.captioners.up_down import UpDown
from tellapart.objectives.adversarial import Adversarial
from tellapart.objectives.introspection import Introspection
from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.reference_contrast import ReferenceContrastLearning
from tellapart.objectives.rewards import Rewards
from tellapart.objectives.self_critical import SelfCritical
from tellapart.runs.recipe import Optimiser, Recipe, Schedule, Stage

LONGEST = 18
PAIRS = Sampling(batch=20, captions_each=5, longest=LONGEST)
BETAS = (0.8, 0.999)
PAPER = "CL"


def likelihood_stage(name: str, model: Any, epochs: int = 30) -> Stage:
    """Maximum likelihood (Eq. 1) at 4e-4, times 0.8 every three epochs."""
    return Stage(
        name=name,
        model=model,
        objective=Likelihood(),
        sampling=PAIRS,
        optimiser=Optimiser(lr=4e-4, betas=BETAS),
        schedule=Schedule("step", every=3, factor=0.8),
        epochs=epochs,
        clip_value=0.1,
        evaluation="captions",
        monitor="cider",
        patience=6,
    )


def further_stage(
    name: str,
    start: str,
    objective: Any,
    lr: float = 2e-5,
    epochs: int = 10,
    scaled: tuple[tuple[str, float], ...] = (),
) -> Stage:
    """A further stage with another objective, starting from a captioner trained by likelihood."""
    return Stage(
        name=name,
        start=start,
        objective=objective,
        sampling=PAIRS,
        optimiser=Optimiser(lr=lr, betas=BETAS, scaled=scaled),
        epochs=epochs,
        clip_value=0.1,
        evaluation="captions",
        monitor="cider",
        patience=4,
    )


NT = likelihood_stage("nt", NeuralTalk2())
AA = likelihood_stage("aa", AdaptiveAttention())


def contrast_stage(name: str, start: str, reference: str, parts: str = "both") -> Stage:
    """Contrastive learning of the captioner `start` against the frozen `reference`."""
    return further_stage(name, start, ReferenceContrastLearning(reference, parts=parts))


def _recipe(name: str, row: str, about: str, *stages: Stage, features: str = "grid", expected: str = "") -> Recipe:
    return Recipe(name, f"{PAPER}, {row}", about, stages, features=features, expected=expected)


def _paper(b4: float, meteor: float, rouge: float, cider: float) -> str:
    return f"Paper, COCO val: BLEU-4 {b4}, METEOR {meteor}, ROUGE-L {rouge}, CIDEr {cider}."


UP_DOWN = Stage(
    name="mle",
    model=UpDown(compat="code"),
    objective=Likelihood(smoothing=0.1, sampling_most=0.25),
    sampling=Sampling(batch=29, captions_each=5, longest=LONGEST),
    optimiser=Optimiser(lr=5e-4),
    schedule=Schedule("step", every=3, factor=0.8),
    epochs=30,
    clip_value=0.1,
    evaluation="captions",
    monitor="cider",
    patience=6,
)
CRITICAL = Stage(
    name="scst",
    start="mle",
    objective=SelfCritical(Rewards(cider=1.0), baseline="leave-one-out"),
    sampling=Sampling(batch=32, what="images", longest=LONGEST),
    optimiser=Optimiser(lr=5e-5),
    epochs=40,
    clip_value=0.1,
    evaluation="captions",
    monitor="cider",
    patience=8,
)

RECIPES = (
    _recipe(
        "neuraltalk2",
        "Tables 1 and 5",
        "LSTM captioner that reads the image once, as its first input; maximum likelihood.",
        NT,
        features="vector",
        expected=_paper(0.291, 0.238, 0.516, 0.882),
    ),
    _recipe(
        "adaptive-attention",
        "Tables 1, 3, 4, 5 and 6",
        "Attention over cells and a visual sentinel; maximum likelihood.",
        AA,
        expected=_paper(0.327, 0.260, 0.540, 1.042),
    ),
    _recipe(
        "neuraltalk2-continued",
        "control for Table 5",
        "NeuralTalk2 with likelihood for as many further steps as contrastive learning takes.",
        NT,
        further_stage("continued", "nt", Likelihood()),
        features="vector",
    ),
    _recipe(
        "adaptive-attention-continued",
        "control for Tables 1, 3 and 4",
        "Likelihood for as many further steps, with the schedule of contrastive learning.",
        AA,
        further_stage("continued", "aa", Likelihood()),
    ),
    _recipe(
        "adaptive-attention-il",
        "Table 4, Base + IL",
        "Introspective learning: a caption likelier with its own image than with one fixed other.",
        AA,
        further_stage("il", "aa", Introspection()),
        expected=_paper(0.307, 0.253, 0.530, 1.004),
    ),
    _recipe(
        "adaptive-attention-gan",
        "Table 4, Base + GAN",
        "A conditional GAN: an evaluator learns together with the captioner and rewards it.",
        AA,
        # The evaluator starts untrained and must learn fast to be useful.
        further_stage("gan", "aa", Adversarial(), lr=5e-5, scaled=(("evaluator", 10.0),)),
        expected=_paper(0.190, 0.212, 0.458, 0.700),
    ),
    _recipe(
        "adaptive-attention-cl-positive",
        "Table 4, Base + CL(P)",
        "Contrastive learning with the positive constraint alone.",
        AA,
        contrast_stage("cl", "aa", "aa", "positive"),
        expected=_paper(0.334, 0.262, 0.545, 1.059),
    ),
    _recipe(
        "adaptive-attention-cl-negative",
        "Table 4, Base + CL(N)",
        "Contrastive learning with the negative constraint alone.",
        AA,
        contrast_stage("cl", "aa", "aa", "negative"),
        expected=_paper(0.212, 0.246, 0.479, 0.603),
    ),
    _recipe(
        "adaptive-attention-cl",
        "Tables 1, 3, 4, 5 and 6 (run 1)",
        "Contrastive learning against itself as learned by likelihood.",
        AA,
        contrast_stage("cl", "aa", "aa"),
        expected=_paper(0.353, 0.271, 0.559, 1.142),
    ),
    _recipe(
        "adaptive-attention-cl-twice",
        "Table 6 (run 2)",
        "Contrastive learning, then again with the best target as the reference.",
        AA,
        contrast_stage("cl", "aa", "aa"),
        contrast_stage("cl-again", "cl", "cl"),
        expected=_paper(0.353, 0.272, 0.559, 1.142),
    ),
    _recipe(
        "neuraltalk2-cl",
        "Table 5, NT with NT",
        "NeuralTalk2 learning against itself.",
        NT,
        contrast_stage("cl", "nt", "nt"),
        features="vector",
        expected=_paper(0.300, 0.242, 0.524, 0.905),
    ),
    _recipe(
        "neuraltalk2-cl-adaptive-attention",
        "Table 5, NT with AA",
        "NeuralTalk2 learning against AdaptiveAttention.",
        AA,
        NT,
        contrast_stage("cl", "nt", "aa"),
        expected=_paper(0.311, 0.249, 0.533, 0.956),
    ),
    Recipe(
        "tell-best-mle",
        "grounded captioning, section 3.2; Anderson et al. 2018",
        "Two LSTMs with attention over cells or regions; maximum likelihood.",
        (UP_DOWN,),
        features="grid",
    ),
    Recipe(
        "tell-best",
        "grounded captioning, section 3.3; Rennie et al. 2017",
        "Up-Down by likelihood, then self-critical on CIDEr-D.",
        (UP_DOWN, CRITICAL),
        features="grid",
    ),
)
