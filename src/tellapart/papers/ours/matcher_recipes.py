"""Our strongest matchers for few captioned images and frozen backbones.

All have learned pooling, large batches, noise on rows, features and words, and a moving average of the weights. They
differ in the loss, the text encoder and the pooling of the image; the table find/best compares them.
"""

from __future__ import annotations

from dataclasses import replace

from tellapart.data.sampling import Sampling
from tellapart.losses import Contrast
from tellapart.models.matchers.pooled import Pooled
from tellapart.objectives.ranking import Ranking
from tellapart.runs.recipe import Average, Optimiser, Recipe, Schedule, Stage

SENTENCES = "targets-minilm"
INFO_NCE = Contrast("info-nce", temperature=0.05)
HARDEST = Contrast("hardest-negative-hinge", margin=0.2, reduction="mean")
STRONG = Pooled(word_width=50, word_vectors="glove-50", sentence_column=SENTENCES, dropout=0.2, row_dropout=0.3)


def main_stage(model: Pooled, contrast: Contrast = INFO_NCE, epochs: int = 25) -> Stage:
    """InfoNCE, or another contrast, in large batches."""
    return Stage(
        name="train",
        model=model,
        objective=Ranking(contrast),
        sampling=Sampling(batch=256, columns=(model.sentence_column,) if model.sentence_column else ()),
        optimiser=Optimiser("adamw", lr=5e-4, weight_decay=1e-2),
        schedule=Schedule("cosine", warmup_steps=200),
        epochs=epochs,
        clip_norm=2.0,
        average=Average("ema", decay=0.998),
        evaluation="retrieval",
        monitor="rsum",
    )


def hardest_stage(model: Pooled, epochs: int = 15) -> Stage:
    """After InfoNCE, only the hardest negatives."""
    return replace(
        main_stage(model, HARDEST, epochs),
        name="hardest",
        model=None,
        start="previous",
        optimiser=Optimiser("adamw", lr=1e-4, weight_decay=1e-2),
    )


def _recipe(name: str, about: str, stages: tuple[Stage, ...], features: str = "grid") -> Recipe:
    return Recipe(name=name, paper="Ours: find-best", about=about, features=features, stages=stages)


PLAIN = replace(STRONG, sentence_column="")
TRANSFORMER = replace(STRONG, row_layers=1)
LANGUAGE = Pooled(text="minilm", dropout=0.2, row_dropout=0.3, replace_words=0.05, delete_words=0.05)

FIND_BEST = _recipe(
    "find-best",
    "InfoNCE over learned pooling of the grid, a bi-GRU over GloVe and a fixed MiniLM sentence vector.",
    (main_stage(STRONG),),
)
RECIPES = (
    FIND_BEST,
    _recipe(
        "find-best-hardest",
        "find-best, then the hardest negatives.",
        (main_stage(STRONG), hardest_stage(STRONG)),
    ),
    _recipe("find-best-gru", "find-best without the sentence vector: it can read any query.", (main_stage(PLAIN),)),
    _recipe("find-best-transformer", "find-best with a transformer layer over the grid.", (main_stage(TRANSFORMER),)),
    _recipe(
        "find-best-language",
        "find-best with MiniLM fine-tuned as the text encoder.",
        (
            replace(
                main_stage(LANGUAGE, epochs=15),
                optimiser=Optimiser("adamw", lr=5e-4, weight_decay=1e-2, scaled=(("text.encoder", 0.1),)),
            ),
        ),
    ),
    _recipe("find-best-regions", "find-best over regions.", (main_stage(STRONG),), "regions"),
    _recipe(
        "find-best-vector",
        "find-best over one vector per image.",
        (main_stage(replace(STRONG, row_dropout=0.0)),),
        "vector",
    ),
)
