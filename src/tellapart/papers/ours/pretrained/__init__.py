"""The papers' methods on pretrained models of `transformers`: one recipe per file.

Each starts from `--start hf:FOLDER` and learns low-rank adapters; `--set train.lora=none train.optimiser.lr=1e-5` tunes
the whole model. docs/pretrained.md says when to use which.
"""

from tellapart.papers.ours.pretrained import (
    blip_cl,
    blip_scst_self_retrieval,
    clip_convse,
    clip_hard_negatives,
    clip_ltd,
    clip_plain,
    siglip_ltd,
)

RECIPES = (
    clip_plain.RECIPE,
    clip_hard_negatives.RECIPE,
    clip_convse.RECIPE,
    clip_ltd.RECIPE,
    siglip_ltd.RECIPE,
    blip_cl.RECIPE,
    blip_scst_self_retrieval.RECIPE,
)
