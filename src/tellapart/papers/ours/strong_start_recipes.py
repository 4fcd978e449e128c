"""From a strong start: the bundled models, trained on COCO, tuned with and without LTD and CL, whole or by adapters."""

from __future__ import annotations

from dataclasses import replace

from tellapart.data.sampling import Sampling
from tellapart.losses import Contrast
from tellapart.models.layers.lora import Lora
from tellapart.objectives.extra_loss import Joining
from tellapart.objectives.latent_target import LatentTarget
from tellapart.objectives.ranking import Ranking
from tellapart.objectives.reference_contrast import ReferenceContrastLearning
from tellapart.papers.ours.photo_recipes import TUNED_MATCHER, TUNED_WORDS
from tellapart.runs.recipe import Optimiser, Recipe, Schedule, Stage

PAPER = "Ours: from a strong start"
TARGETS = "targets-minilm"
LAYERS = ("query", "key", "value", "image", "caption")
"""The attention of the text encoder and both projections of the matcher."""
MATCHER_ADAPTERS = Lora(rank=16, layers=LAYERS)
CAPTIONER_ADAPTERS = Lora(rank=16, layers=("query", "key", "value", "output"))
LTD = LatentTarget(Contrast("info-nce", temperature=0.03), Joining(bound=0.2), TARGETS)
HARDEST = Ranking(Contrast("hardest-negative-hinge", margin=0.1))

PLAIN_CAPTIONER = replace(TUNED_WORDS, name="train")
CL_STAGE = replace(
    PLAIN_CAPTIONER,
    objective=ReferenceContrastLearning(reference="start", rounds=2),
    sampling=Sampling(batch=32, captions_each=5, longest=20),
    optimiser=Optimiser("adamw", lr=2e-5, betas=(0.9, 0.98), weight_decay=1e-2),
    schedule=Schedule("cosine", warmup_steps=20),
    epochs=3,
    average=None,
)
CONTINUED = replace(
    PLAIN_CAPTIONER, name="further", model=None, start="previous", epochs=3,
    optimiser=Optimiser("adamw", lr=2e-5, betas=(0.9, 0.98), weight_decay=1e-2),
)  # fmt: skip


def with_ltd(stage: Stage) -> Stage:
    """The stage with latent target decoding as a constraint."""
    return replace(stage, objective=LTD, sampling=replace(stage.sampling, columns=(TARGETS,)))


def with_adapters(stage: Stage, lora: Lora, lr: float) -> Stage:
    """The stage with adapters, which take a larger learning rate."""
    return replace(stage, lora=lora, optimiser=replace(stage.optimiser, lr=lr, scaled=()))


def _recipe(name: str, about: str, *stages: Stage) -> Recipe:
    return Recipe(name=name, paper=PAPER, about=about, features="grid", stages=stages)


LORA_MATCHER = with_adapters(TUNED_MATCHER, MATCHER_ADAPTERS, 5e-4)
LORA_CAPTIONER = with_adapters(PLAIN_CAPTIONER, CAPTIONER_ADAPTERS, 2e-4)
LORA_CL = with_adapters(CL_STAGE, CAPTIONER_ADAPTERS, 1e-4)

RECIPES = (
    _recipe(
        "find-from-coco-ltd", "The bundled matcher tuned whole, with LTD as a constraint.", with_ltd(TUNED_MATCHER)
    ),
    _recipe("find-from-coco-lora", "The bundled matcher tuned by adapters, with InfoNCE alone.", LORA_MATCHER),
    _recipe(
        "find-from-coco-lora-ltd",
        "The bundled matcher tuned by adapters, with LTD as a constraint.",
        with_ltd(LORA_MATCHER),
    ),
    _recipe(
        "find-from-coco-lora-hard",
        "The bundled matcher tuned by adapters, with the hardest negatives.",
        replace(LORA_MATCHER, objective=HARDEST),
    ),
    _recipe("tell-from-coco-plain", "The bundled captioner tuned whole, by likelihood.", PLAIN_CAPTIONER),
    _recipe("tell-from-coco-cl", "The bundled captioner tuned whole, by contrast with its original.", CL_STAGE),
    _recipe(
        "tell-from-coco-plain-cl",
        "The bundled captioner tuned by likelihood, then by contrast with that.",
        PLAIN_CAPTIONER,
        replace(CL_STAGE, name="further", model=None, start="previous"),
    ),
    _recipe(
        "tell-from-coco-plain-continued",
        "The bundled captioner tuned by likelihood, and as long again as CL would.",
        PLAIN_CAPTIONER,
        CONTINUED,
    ),
    _recipe("tell-from-coco-lora", "The bundled captioner tuned by adapters, by likelihood.", LORA_CAPTIONER),
    _recipe(
        "tell-from-coco-lora-cl", "The bundled captioner tuned by adapters, by contrast with its original.", LORA_CL
    ),
)
