"""How the contrastive captioning paper's rows are trained on a few thousand images, such as Flickr8k's."""

from __future__ import annotations

from tellapart.papers.contrastive_captioning.table_parts import CONTROL, PRODUCT, Scale

DATA = (
    "Values in percent. The paper's are on COCO. Self-retrieval there is among 5,000 images, here among those of the "
    "test split: by chance, top-500 of 1,000 images is 50%, of 5,000 images 10%."
)
SETTINGS = (
    "Frozen features, layer-normalised. Likelihood: 20 epochs with batches of 64 images with five captions each. All "
    "stages after it: 6 epochs with batches of 32 images, the learning rate falling from 2e-4 to zero along a cosine, "
    "the last weights kept, so that no method is stopped at its best epoch on validation. The sum of the learning "
    f"rates of all steps is 0.11 for 6,000 images. {PRODUCT}"
)
NOTES = (DATA, SETTINGS, CONTROL)

SMALL = Scale(
    likelihood=("model.scaling=layer", "sampling.batch=64", "optimiser.lr=5e-4", "epochs=20", "patience=0"),
    further=(
        "sampling.batch=32",
        "optimiser.lr=2e-4",
        "schedule.kind=cosine",
        "epochs=6",
        "patience=0",
        "evaluate_every=3",
        "keep=last",
    ),
)
