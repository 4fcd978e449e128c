"""Measures that need no model, only what another measure has kept: `later.py` computes them when a table is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.evaluation.region_bounds import region_bounds
from tellapart.reproduce.caption_measures import text_metrics
from tellapart.reproduce.measured import SPLIT, Measured


@dataclass(frozen=True)
class Later:
    """A measure that needs no model, only what another measure has kept."""

    source: str
    compute: Callable[[Mapping[str, np.ndarray], Pack, str | None, frozenset[str]], Measured]
    """(kept arrays, pack, name of the features, names of the wanted figures) -> what was measured."""
    needs_features: bool = False
    """Of the run, in the pack."""


def measure_regions(
    items: Mapping[str, np.ndarray], pack: Pack, features: str | None, wanted: frozenset[str]
) -> Measured:
    """What the regions that a run looks at allow."""
    assert features is not None
    return Measured(region_bounds(pack, FeatureStore(pack.feature_folder(features)), SPLIT))


LATER: dict[str, Later] = {
    "text-metrics": Later("captions", text_metrics),
    "greedy-text-metrics": Later("grounding", text_metrics),
    "regions": Later("grounding", measure_regions, needs_features=True),
}
