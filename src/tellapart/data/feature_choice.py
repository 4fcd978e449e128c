"""Which features of a pack a recipe reads."""

from __future__ import annotations

from collections.abc import Sequence

from tellapart.core.errors import InputError, Step
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack

NO_FEATURES = "none"
"""The kind of a recipe that reads no features."""


def choose_features(
    pack: Pack, kind: str, name: str | None = None, candidates: Sequence[str] = ()
) -> FeatureStore | None:
    """The features a recipe reads: those called `name`; else the candidate of its kind; else the only ones of its kind.

    None for a recipe that reads no features. Features of mirror images are chosen only by name: training reads them
    together with the features they mirror.
    """
    if kind == NO_FEATURES:
        return None
    stores = {name: FeatureStore(pack.feature_folder(name)) for name in pack.feature_names()}
    unknown = [given for given in ((name,) if name else candidates) if given not in stores]
    if unknown:
        raise InputError(
            f"{pack.folder} has no finished features '{unknown[0]}'; it has {', '.join(stores) or 'none at all'}."
        )
    if name:
        return stores[name]
    usable = {key: store for key, store in stores.items() if key in candidates or not store.facts.get("flipped")}
    fitting = [key for key in candidates if usable[key].kind == kind]
    fitting = fitting or [key for key, store in usable.items() if store.kind == kind]
    if not fitting:
        have = ", ".join(f"{key} ({store.kind})" for key, store in usable.items()) or "none at all"
        raise InputError(
            f"{pack.folder} has no features of kind '{kind}' (it has {have}); extract them first.",
            Step("extract", pack.folder, kind=kind),
        )
    if len(fitting) > 1:
        raise InputError(
            f"{pack.folder} has several features of kind '{kind}'; choose one with `features`: {', '.join(fitting)}."
        )
    return stores[fitting[0]]
