"""Captioners of grid cells for a small data set: regularised likelihood, then self-critical on CIDEr-D.

A pack of 6,000 images is small for a captioner. Against overfitting: one table for words read and predicted, dropout of
one half, label smoothing, a moving average of the weights, and scheduled sampling.
"""

from __future__ import annotations

from typing import Any

from tellapart.data.sampling import Sampling
from tellapart.models.captioners.adaptive_attention import AdaptiveAttention
from tellapart.models.captioners.transformer import Transformer
from tellapart.models.captioners.up_down import UpDown
from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.rewards import Rewards
from tellapart.objectives.self_critical import SelfCritical
from tellapart.runs.recipe import Average, Optimiser, Recipe, Schedule, Stage

LONGEST = 18
PAPER = "Ours; parts of CL, grounded captioning, Bengio et al. 2015, Rennie et al. 2017"


def words_stage(model: Any) -> Stage:
    """Maximum likelihood."""
    return Stage(
        name="mle",
        model=model,
        objective=Likelihood(smoothing=0.1, sampling_most=0.25, sampling_every=3),
        sampling=Sampling(batch=64, captions_each=5, longest=LONGEST),
        optimiser=Optimiser(lr=5e-4),
        schedule=Schedule("cosine", warmup_steps=100),
        epochs=20,
        clip_value=0.1,
        average=Average("ema", decay=0.99),
        evaluation="captions",
        monitor="cider",
    )


REWARD = Stage(
    name="scst",
    start="mle",
    objective=SelfCritical(Rewards(), baseline="leave-one-out", samples=5),
    sampling=Sampling(batch=64, what="images", longest=LONGEST),
    optimiser=Optimiser(lr=5e-5),
    schedule=Schedule("cosine"),
    epochs=15,
    clip_value=0.1,
    average=Average("ema", decay=0.99),
    evaluation="captions",
    monitor="cider",
)
UP_DOWN = words_stage(UpDown(scaling="layer", tied=True, compat="code"))

RECIPES = (
    Recipe(
        name="tell-averaged-mle",
        paper=PAPER,
        about="The first stage of tell-averaged only: maximum likelihood.",
        features="grid",
        stages=(UP_DOWN,),
    ),
    Recipe(
        name="tell-averaged",
        paper=PAPER,
        about="Up-Down with averaged weights: likelihood with scheduled sampling, then CIDEr-D against leave-one-out.",
        features="grid",
        stages=(UP_DOWN, REWARD),
    ),
    Recipe(
        name="tell-averaged-adaptive",
        paper=PAPER,
        about="tell-averaged with AdaptiveAttention instead of Up-Down.",
        features="grid",
        stages=(words_stage(AdaptiveAttention(scaling="layer", tied=True)), REWARD),
    ),
    Recipe(
        name="transformer",
        paper=PAPER,
        about="A transformer over grid cells: likelihood, then self-critical on CIDEr-D.",
        features="grid",
        stages=(words_stage(Transformer(width=256, heads=4, feed_forward=1024, dropout=0.3)), REWARD),
    ),
)
