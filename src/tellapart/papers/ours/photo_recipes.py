"""Recipes of the two bundled models, and of fine-tuning them on a smaller pack.

The bundled weights were trained together with their backbone by `tellapart.training.end_to_end`. These recipes
train the same models on features of a pack, with a frozen backbone.
"""

from __future__ import annotations

from dataclasses import replace

from tellapart.data.sampling import Sampling
from tellapart.losses import Contrast
from tellapart.models.captioners.transformer import Transformer
from tellapart.models.matchers.dual_encoder import DualEncoder
from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.ranking import Ranking
from tellapart.objectives.rewards import Rewards
from tellapart.objectives.self_critical import SelfCritical
from tellapart.papers.ours import captioner_recipes
from tellapart.runs.recipe import Average, Optimiser, Recipe, Schedule, Stage

PAPER = "Ours; the bundled models"
POSITIONS = 128

WORDS = replace(
    captioner_recipes.words_stage(Transformer()),
    objective=Likelihood(smoothing=0.1),
    sampling=Sampling(batch=128, captions_each=5, longest=20),
    optimiser=Optimiser("adamw", lr=3e-4, betas=(0.9, 0.98), weight_decay=1e-2),
    schedule=Schedule("cosine", warmup_steps=500),
    epochs=12,
    clip_norm=1.0,
    clip_value=0.0,
    average=Average("ema", decay=0.998),
    evaluate_every=3,
)
REWARD = replace(
    captioner_recipes.REWARD,
    objective=SelfCritical(Rewards(), baseline="leave-one-out", samples=5, reread=True),
    sampling=Sampling(batch=128, what="images", longest=20),
    optimiser=Optimiser("adamw", lr=3e-5, betas=(0.9, 0.98)),
    clip_norm=1.0,
    clip_value=0.0,
    epochs=3,
)
MATCHER = Stage(
    name="train",
    model=DualEncoder(positions=POSITIONS),
    objective=Ranking(Contrast("info-nce", temperature=0.03)),
    sampling=Sampling(batch=512),
    optimiser=Optimiser("adamw", lr=7e-4, betas=(0.9, 0.98), weight_decay=1e-2, scaled=(("text", 0.15),)),
    schedule=Schedule("cosine", warmup_steps=300),
    epochs=12,
    clip_norm=1.0,
    average=Average("ema", decay=0.998),
    evaluation="retrieval",
    monitor="rsum",
)
TUNED_WORDS = replace(
    WORDS,
    start="bundled:captioner",
    sampling=Sampling(batch=64, captions_each=5, longest=20),
    optimiser=Optimiser("adamw", lr=5e-5, betas=(0.9, 0.98), weight_decay=1e-2),
    schedule=Schedule("cosine", warmup_steps=20),
    epochs=6,
    average=Average("ema", decay=0.99),
    evaluate_every=1,
)
TUNED_REWARD = replace(
    REWARD,
    sampling=Sampling(batch=64, what="images", longest=20),
    optimiser=Optimiser("adamw", lr=1e-5, betas=(0.9, 0.98)),
)
TUNED_MATCHER = replace(
    MATCHER,
    model=DualEncoder(positions=POSITIONS, start=""),
    start="bundled:matcher",
    sampling=Sampling(batch=128),
    optimiser=Optimiser("adamw", lr=1e-4, betas=(0.9, 0.98), weight_decay=1e-2, scaled=(("text", 0.3),)),
    schedule=Schedule("cosine", warmup_steps=20),
    epochs=5,
    average=Average("ema", decay=0.99),
)
FEW_WORDS = replace(
    TUNED_WORDS,
    sampling=Sampling(batch=10, captions_each=5, longest=20),
    schedule=Schedule("cosine", warmup_steps=5),
    epochs=8,
    average=None,
    evaluation="loss",
    validation_split="train",
    monitor="loss",
    evaluate_every=8,
    keep="last",
)
"""For some fifty images: batches small enough for several steps per epoch, a warm-up that ends, and no images set
aside, since a handful cannot tell which epoch is best."""

RECIPES = (
    Recipe(
        name="photo-captioner",
        paper=PAPER,
        about="A transformer over grid cells: likelihood, then self-critical on CIDEr-D.",
        features="grid",
        stages=(WORDS, REWARD),
        expected="The bundled weights were trained end to end instead: CIDEr 110.0, BLEU-4 34.4 (see the model card).",
    ),
    Recipe(
        name="photo-matcher",
        paper=PAPER,
        about="Pooled grid cells and MiniLM over subwords, by InfoNCE.",
        features="grid",
        stages=(MATCHER,),
        expected="The bundled weights were trained end to end instead: R@sum 348 among 5,000 (see the model card).",
    ),
    Recipe(
        name="tell-from-coco-mle",
        paper=PAPER,
        about="The bundled captioner fine-tuned by likelihood on a pack with its vocabulary and features.",
        features="grid",
        stages=(TUNED_WORDS,),
    ),
    Recipe(
        name="tell-from-coco",
        paper=PAPER,
        about="The bundled captioner fine-tuned on a pack: likelihood, then self-critical on CIDEr-D.",
        features="grid",
        stages=(TUNED_WORDS, TUNED_REWARD),
    ),
    Recipe(
        name="find-from-coco",
        paper=PAPER,
        about="The bundled matcher fine-tuned on a pack, which must have its vocabulary and features.",
        features="grid",
        stages=(TUNED_MATCHER,),
    ),
    Recipe(
        name="tell-from-coco-few",
        paper=PAPER,
        about="The bundled captioner fine-tuned by likelihood on some fifty images.",
        features="grid",
        stages=(FEW_WORDS,),
    ),
)
