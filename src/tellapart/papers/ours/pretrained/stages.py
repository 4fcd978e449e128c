"""What the recipes on pretrained models share: adapters, a small learning rate, large batches of mirrored images."""

from __future__ import annotations

from typing import Any

from tellapart.data.sampling import Sampling
from tellapart.models.layers.lora import Lora
from tellapart.runs.recipe import Optimiser, Schedule, Stage

TARGETS = "targets-minilm"
CLIP = "openai/clip-vit-base-patch32"
SIGLIP = "google/siglip-base-patch16-224"
BLIP = "Salesforce/blip-image-captioning-base"
ADAPTERS = Lora(rank=16)


def matcher_stage(model: Any, objective: Any, columns: tuple[str, ...] = ()) -> Stage:
    """A dual encoder that learns from pairs in batches of 128 captions."""
    return Stage(
        name="train",
        model=model,
        objective=objective,
        sampling=Sampling(batch=128, columns=columns, cut=0.8),
        optimiser=Optimiser("adamw", lr=1e-4, weight_decay=1e-2),
        schedule=Schedule("cosine", warmup_steps=100),
        epochs=5,
        clip_norm=1.0,
        lora=ADAPTERS,
        evaluation="retrieval",
        monitor="rsum",
    )


def captioner_stage(model: Any, objective: Any, batch: int = 32, captions_each: int | None = None) -> Stage:
    """A captioner, validated by the CIDEr-D of its greedy captions."""
    return Stage(
        name="train",
        model=model,
        objective=objective,
        sampling=Sampling(batch=batch, captions_each=captions_each, cut=0.8),
        optimiser=Optimiser("adamw", lr=5e-5, weight_decay=1e-2),
        schedule=Schedule("cosine", warmup_steps=100),
        epochs=3,
        clip_norm=1.0,
        lora=ADAPTERS,
        evaluation="captions",
        monitor="cider",
    )
