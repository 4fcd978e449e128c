"""The attention accuracy that the regions of a pack allow."""

from __future__ import annotations

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.feature_store import FeatureStore
from tellapart.data.object_words import open_objects
from tellapart.data.pack import Pack
from tellapart.data.sampling import split_rows
from tellapart.metrics.grounding.attention import THRESHOLD, Outcomes, attention_accuracy
from tellapart.metrics.grounding.boxes import image_sizes, overlap

AT_ONCE = 4096
"""Words whose regions are compared with their boxes at once."""


def region_bounds(pack: Pack, store: FeatureStore, split: str) -> dict[str, float]:
    """The attention accuracy, in percent, that these regions allow: `region_ceiling` for attention that finds a region
    with an overlap over 0.5 wherever there is one, `region_chance` for a random region, and `region_first` for the
    first region, which is the surest detection."""
    if store.boxes is None:
        raise InputError(f"The features {store.name} have no boxes to attend to.")
    objects = open_objects(pack)
    words = objects.of_captions(split_rows(pack, split).captions)
    image = pack.owner[objects.caption[words]]
    boxes, mask = objects.padded_boxes
    sizes = image_sizes(pack.images)
    parts: dict[str, list[np.ndarray]] = {"ceiling": [], "chance": [], "first": []}
    for start in range(0, len(words), AT_ONCE):
        part = np.arange(start, min(start + AT_ONCE, len(words)))
        where, real = store.gather(image[part])  # [w, R]
        size = sizes[image[part]][:, None]
        regions = np.asarray(store.boxes[where], np.float64) * size  # [w, R, 4]
        found = overlap(regions[:, :, None], (boxes[words[part]] * size)[:, None])  # [w, R, K]
        found = np.where(mask[words[part]][:, None] & real[:, :, None], found, 0.0)
        right = found.max(2, initial=0.0) > THRESHOLD  # [w, R]
        parts["ceiling"].append(right.any(1))
        parts["chance"].append(right.sum(1) / np.maximum(real.sum(1), 1))
        parts["first"].append(right[:, 0])
    metrics = {}
    for name, hits in parts.items():
        outcomes = Outcomes(image, objects.word_class[words], np.concatenate([np.zeros(0), *hits]))
        both = attention_accuracy(outcomes, len(objects.classes))
        metrics[f"region_{name}"] = both["attention_accuracy"]
        metrics[f"region_{name}_words"] = both["attention_accuracy_words"]
    return metrics
