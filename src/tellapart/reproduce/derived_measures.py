"""Measures that need no model, only the values that another measure has stored (`measure_derived.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.evaluation.region_bounds import region_bounds
from tellapart.reproduce.caption_measures import text_metrics
from tellapart.reproduce.measurement import SPLIT, Measurement

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class DerivedMeasure:
    """A measure that is computed from what another measure has stored."""

    source: str
    """Name of the other measure."""
    compute: Callable[[Arrays, Pack, str | None, frozenset[str]], Measurement]
    """(stored arrays, pack, name of the features, names of the metrics) -> the measurement."""
    needs_features: bool = False
    """Whether the pack must have the run's features."""


def measure_regions(items: Arrays, pack: Pack, features: str | None, metrics: frozenset[str]) -> Measurement:
    """The grounding that the regions which a run attends to allow at best, and by chance."""
    if features is None:
        raise InputError("A run without features attends to no regions.")
    return Measurement(region_bounds(pack, FeatureStore(pack.feature_folder(features)), SPLIT))


DERIVED: dict[str, DerivedMeasure] = {
    "text-metrics": DerivedMeasure("captions", text_metrics),
    "greedy-text-metrics": DerivedMeasure("grounding", text_metrics),
    "regions": DerivedMeasure("grounding", measure_regions, needs_features=True),
}
