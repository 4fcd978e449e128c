"""Three decoders trained alike on grid cells by likelihood: which one should the bundled captioner have?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tellapart.models.captioners.adaptive_attention import AdaptiveAttention
from tellapart.models.captioners.transformer import Transformer
from tellapart.models.captioners.up_down import UpDown
from tellapart.papers.ours.photo_recipes import WORDS
from tellapart.runs.recipe import Recipe, Schedule

PAPER = "Ours; which decoder the bundled captioner has"


def _recipe(name: str, about: str, model: Any) -> Recipe:
    stage = replace(WORDS, model=model, schedule=Schedule("cosine", warmup_steps=300), epochs=2, evaluate_every=2)
    return Recipe(name, PAPER, f"{about} over grid cells, by likelihood for two epochs.", (stage,), features="grid")


RECIPES = (
    _recipe(
        "decoder-adaptive-attention",
        "AdaptiveAttention",
        AdaptiveAttention(dropout=0.2, attention_dropout=0.2, scaling="layer", tied=True),
    ),
    _recipe("decoder-up-down", "Up-Down", UpDown(dropout=0.2, scaling="layer", tied=True, compat="code")),
    _recipe("decoder-transformer", "A transformer", Transformer()),
)
