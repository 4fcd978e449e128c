"""A finished run and a pack, joined: what an evaluation needs to feed the run's model."""

from __future__ import annotations

import torch

from tellapart.core.errors import InputError
from tellapart.data.batches import Batches
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.views import Views
from tellapart.objectives.context import Context
from tellapart.runs.run import Run, inputs_for


def context_for(run: Run, pack: Pack, features: str | None = None, device: str = "cpu") -> Context:
    """What an evaluation of a run on a pack needs; refuses a pack whose words or features are not the run's."""
    if pack.vocabulary.words != run.vocabulary.words:
        raise InputError(
            f"{pack.folder} was prepared with another vocabulary than {run.folder}; prepare it with "
            f"--vocabulary-from {run.folder}."
        )
    trained_on = run.data["features"]
    store = None
    if trained_on is not None:
        store = FeatureStore(pack.feature_folder(features or trained_on["name"]))
        if (store.kind, store.width) != (trained_on["kind"], trained_on["width"]):
            raise InputError(
                f"{store.folder} is {store.kind} of width {store.width}, but {run.folder} was trained on "
                f"{trained_on['name']}, {trained_on['kind']} of width {trained_on['width']}; extract the same, "
                "or name others with --features."
            )
    sampling = run.last_stage.sampling
    columns = tuple(name for name in sampling.columns if pack.has_column(name))
    return Context(
        pack=pack,
        inputs=inputs_for(run.vocabulary, trained_on, load_pretrained=False),
        batches=Batches(pack, store, columns, device, None, views=Views(sampling.pixels)),
        store=store,
        device=torch.device(device),
    )
