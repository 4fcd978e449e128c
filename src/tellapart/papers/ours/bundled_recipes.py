"""Recipes of the models that came with version 0.1, on features of EfficientNet-Lite0, and of fine-tuning them.

The tables find/from-coco and tell/from-coco were measured with them. The weights of those models are no longer bundled:
the fine-tuning recipes need a run trained by `photo-captioner-adaptive` or `photo-matcher-gru` as `start`.
A hundred thousand images need less dropout than the six thousand of `tell-averaged` and `find-best`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tellapart.data.sampling import Sampling
from tellapart.losses import Contrast
from tellapart.models.captioners.adaptive_attention import AdaptiveAttention
from tellapart.models.captioners.up_down import UpDown
from tellapart.models.matchers.pooled import Pooled
from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.ranking import Ranking
from tellapart.objectives.rewards import Rewards
from tellapart.objectives.self_critical import SelfCritical
from tellapart.papers.ours import captioner_recipes
from tellapart.runs.recipe import Average, Optimiser, Recipe, Schedule, Stage

PAPER = "Ours; the models of version 0.1"


def words_stage(model: Any) -> Stage:
    """Maximum likelihood on many images."""
    return replace(
        captioner_recipes.words_stage(model),
        objective=Likelihood(smoothing=0.1),
        sampling=Sampling(batch=128, captions_each=5, longest=captioner_recipes.LONGEST),
        optimiser=Optimiser(lr=7e-4),
        schedule=Schedule("cosine", warmup_steps=500),
        epochs=12,
        average=Average("ema", decay=0.998),
        evaluate_every=3,
    )


REWARD = replace(
    captioner_recipes.REWARD,
    sampling=Sampling(batch=128, what="images", longest=captioner_recipes.LONGEST),
    optimiser=Optimiser(lr=7e-5),
    epochs=3,
)

CELLS = AdaptiveAttention(dropout=0.3, attention_dropout=0.1, tied=True)
MATCHER = Stage(
    name="train",
    model=Pooled(
        embedding=512,
        pooling="mean",
        layer_norm=False,
        row_dropout=0.0,
        replace_words=0.05,
        delete_words=0.05,
    ),
    objective=Ranking(Contrast("info-nce", temperature=0.05)),
    sampling=Sampling(batch=512),
    optimiser=Optimiser("adamw", lr=7e-4, weight_decay=1e-2),
    schedule=Schedule("cosine", warmup_steps=500),
    epochs=15,
    clip_norm=2.0,
    average=Average("ema", decay=0.998),
    evaluation="retrieval",
    monitor="rsum",
)

TUNED_WORDS = replace(
    words_stage(CELLS),
    start="bundled:captioner",
    sampling=Sampling(batch=64, captions_each=5, longest=captioner_recipes.LONGEST),
    optimiser=Optimiser(lr=2e-4),
    schedule=Schedule("cosine", warmup_steps=100),
    epochs=8,
    average=Average("ema", decay=0.99),
    evaluate_every=1,
)
TUNED_REWARD = replace(
    captioner_recipes.REWARD,
    objective=SelfCritical(Rewards(), baseline="leave-one-out", samples=5, reread=True),
    epochs=12,
)
TUNED_MATCHER = replace(
    MATCHER,
    start="bundled:matcher",
    sampling=Sampling(batch=256),
    optimiser=Optimiser("adamw", lr=2e-4, weight_decay=1e-2),
    schedule=Schedule("cosine", warmup_steps=50),
    epochs=6,
)

RECIPES = (
    Recipe(
        name="photo-captioner-adaptive",
        paper=PAPER,
        about="AdaptiveAttention over grid cells: likelihood, then self-critical on CIDEr-D.",
        features="grid",
        stages=(words_stage(CELLS), REWARD),
        expected="87,000 images of COCO train2017, 1,000 others: BLEU-4 26.2, CIDEr 88.7.",
    ),
    Recipe(
        name="photo-captioner-up-down",
        paper=PAPER,
        about="Up-Down over grid cells: likelihood, then self-critical on CIDEr-D.",
        features="grid",
        stages=(words_stage(UpDown(dropout=0.3, tied=True, compat="code")), REWARD),
    ),
    Recipe(
        name="photo-matcher-gru",
        paper=PAPER,
        about="One vector per image and a bi-GRU over learned word vectors, by InfoNCE.",
        expected="The same, among 1,000 images: R@10 85.1 and 81.6.",
        features="vector",
        stages=(MATCHER,),
    ),
    Recipe(
        name="tell-from-coco-adaptive-mle",
        paper=PAPER,
        about="photo-captioner-adaptive fine-tuned by likelihood on a pack with its vocabulary and features.",
        features="grid",
        stages=(TUNED_WORDS,),
    ),
    Recipe(
        name="tell-from-coco-adaptive",
        paper=PAPER,
        about="photo-captioner-adaptive fine-tuned on a pack: likelihood, then self-critical on CIDEr-D.",
        features="grid",
        stages=(TUNED_WORDS, TUNED_REWARD),
    ),
    Recipe(
        name="find-from-coco-gru",
        paper=PAPER,
        about="photo-matcher-gru fine-tuned on a pack, which must have its vocabulary and features.",
        features="vector",
        stages=(TUNED_MATCHER,),
    ),
)
