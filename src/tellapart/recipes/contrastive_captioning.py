"""Recipes of the contrastive captioning paper (CL), and of the captioners it starts from."""

from __future__ import annotations

from tellapart.captioning.neuraltalk import NeuralTalk2
from tellapart.data.sampling import Sampling
from tellapart.objectives.likelihood import Likelihood
from tellapart.training.recipe import Optimiser, Recipe, Schedule, Stage

NEURALTALK = Recipe(
    name="neuraltalk2",
    paper="CL, section 5.2; Karpathy and Li 2015",
    about="LSTM captioner that sees the picture once, as its first input; maximum likelihood.",
    features="vector",
    stages=(
        Stage(
            name="mle",
            model=NeuralTalk2(),
            objective=Likelihood(),
            sampling=Sampling(batch=20, captions_each=5, longest=16),
            optimiser=Optimiser(rate=4e-4, betas=(0.8, 0.999)),
            schedule=Schedule("step", every=3, factor=0.8),
            epochs=30,
            clip_value=0.1,
            evaluation="captions",
            monitor="cider",
            patience=6,
        ),
    ),
)

RECIPES = (NEURALTALK,)
