"""What evaluations and objectives need besides a model: a pack, its features and how batches are made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from tellapart.core.errors import InputError, Step
from tellapart.core.protocols import Matcher
from tellapart.data.batches import Batches
from tellapart.data.device_pixels import DevicePixels, keep_on_device
from tellapart.data.feature_store import FeatureStore
from tellapart.data.own_images import OwnImages
from tellapart.data.own_text import with_own_text
from tellapart.data.pack import Pack
from tellapart.data.sampling import Sampling
from tellapart.data.squares import stored_side
from tellapart.images.own_processor import OwnProcessor
from tellapart.models.hub.reading import OwnReading
from tellapart.models.inputs import ModelInputs
from tellapart.objectives.caption_judge import CaptionJudge
from tellapart.objectives.context import Context
from tellapart.runs.bundled import run_name
from tellapart.runs.run import Run, inputs_for, open_run
from tellapart.runs.texts import as_texts
from tellapart.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class PixelSettings:
    """Where the images of a model that sees pixels are kept, and who decodes them."""

    place: str = "auto"
    """device, stream (decoded for every batch), or auto: the device where they fit."""
    processes: int = 0
    """Worker processes that decode; 0: threads."""


@dataclass(frozen=True)
class ContextBuilder:
    """Makes the `Context` of each stage that reads the same pack and features."""

    pack: Pack
    store: FeatureStore | None
    device: torch.device
    resident: bool = False
    """Keep all features on the device."""
    width_multiple: int = 1
    """Captions are padded to a multiple of this many tokens."""
    models: dict[str, nn.Module] = field(default_factory=dict)
    """Finished models of earlier stages; a stage that ends adds its own."""
    seen: dict[str, Any] | None = None
    """What models see of images through their own backbone (`run.seen_facts`), where there are no features."""
    pixels: PixelSettings = field(default_factory=lambda: PixelSettings("stream"))
    """Where the images of such models are kept."""
    squares: dict[int, DevicePixels] = field(default_factory=dict)
    """Images on the device by side; all contexts share them."""
    processor: OwnProcessor | None = None
    """The image processor of the model, for images that are not squashed."""

    def context(self, sampling: Sampling) -> Context:
        """The context of a stage that learns; its objective may open other runs."""
        features = self.seen if self.store is None else {**self.store.facts, "rows": self.store.most_rows}
        inputs = inputs_for(self.pack.vocabulary, features, load_pretrained=True)
        return self._context(sampling, inputs, self._load_run)

    def evaluation_context(self, sampling: Sampling, inputs: ModelInputs) -> Context:
        """The context of a finished model: images as they are, whole captions, and the columns that the pack has."""
        columns = tuple(name for name in sampling.columns if self.pack.has_column(name))
        whole = replace(sampling, columns=columns, longest=None, cut=1.0, flip=False)
        return self._context(replace(whole, split=Sampling.split), inputs, None)

    def _context(
        self,
        sampling: Sampling,
        inputs: ModelInputs,
        load_run: Callable[[str], tuple[nn.Module, Vocabulary]] | None,
    ) -> Context:
        return Context(
            pack=self.pack,
            inputs=inputs,
            batches=Batches(
                self.pack,
                self.store,
                sampling.columns,
                self.device,
                longest=sampling.longest,
                resident=self.resident,
                views=sampling.views,
                width_multiple=self.width_multiple,
                squares=self._squares(sampling),
                own=self._own(sampling),
            ),
            store=self.store,
            device=self.device,
            train_split=sampling.split,
            models=self.models,
            load_run=load_run,
            load_judge=self._load_judge,
        )

    def _squares(self, sampling: Sampling) -> DevicePixels | None:
        """The squashed images that a stage reads; those of all stages are the same."""
        if not (sampling.pixels and sampling.squash):
            return None
        side = stored_side(self.pack) or sampling.pixels
        if side not in self.squares:
            keep = keep_on_device(self.pixels.place, len(self.pack.images), side, self.device)
            self.squares[side] = DevicePixels(self.pack, side, self.device, keep, self.pixels.processes)
        return self.squares[side]

    def _own(self, sampling: Sampling) -> OwnImages | None:
        """The reader of images with the model's own processor, where a stage reads pixels that are not squashed."""
        if self.processor is None or not sampling.pixels or sampling.squash:
            return None
        return OwnImages(self.pack, self.processor)

    def _load_judge(self, name: str) -> CaptionJudge:
        return open_caption_judge(name, self.pack, self.device)

    def _load_run(self, name: str) -> tuple[nn.Module, Vocabulary]:
        run = open_run(name, device=self.device)
        return run.model, run.vocabulary


def context_for(run: Run, pack: Pack, features: str | None = None, device: str = "cpu") -> Context:
    """The context to evaluate a run on a pack; raises if the pack's vocabulary or features are not the run's."""
    pack = with_own_text(pack, run.vocabulary)
    if pack.vocabulary.words != run.vocabulary.words:
        raise InputError(
            f"{pack.folder} was prepared with another vocabulary than {run.folder}; prepare it again with that one.",
            Step("prepare", "SOURCE", out="PACK", vocabulary_from=run.folder),
        )
    trained_on = run.data["features"]
    store = None if trained_on is None else store_like(run, trained_on, pack, features)
    builder = ContextBuilder(pack, store, torch.device(device), processor=processor_of(run))
    inputs = inputs_for(run.vocabulary, trained_on or run.data.get("vision"), load_pretrained=False)
    return builder.evaluation_context(run.last_stage.sampling, inputs)


def processor_of(run: Run) -> OwnProcessor | None:
    """The image processor of a run's pretrained model; None for other models."""
    reading = getattr(run.model, "reading", None)
    return reading.processor if isinstance(reading, OwnReading) else None


def pixel_batches(run: Run, pack: Pack, device: torch.device | str = "cpu") -> Batches:
    """Batches of a pack's images as a run that reads pixels sees them; the pack may have another vocabulary."""
    builder = ContextBuilder(pack, None, torch.device(device), processor=processor_of(run))
    inputs = inputs_for(run.vocabulary, run.data.get("vision"), load_pretrained=False)
    return builder.evaluation_context(run.last_stage.sampling, inputs).batches


def open_caption_judge(name: str, pack: Pack, device: torch.device | str = "cpu") -> CaptionJudge:
    """A frozen matcher that judges captions of a pack's images; it may have other words and other features."""
    run = open_run(run_name(name, "matcher"), device=device)
    if not isinstance(run.model, Matcher):
        raise InputError(f"'{name}' is not a matcher, so it cannot judge captions.")
    if run.data["features"] is None:
        batches = pixel_batches(run, pack, device)
    else:
        batches = Batches(pack, store_like(run, run.data["features"], pack, None), (), torch.device(device))
    return CaptionJudge(
        run.model.requires_grad_(False),
        batches.images,
        lambda captions: as_texts(run, captions, device, allow_unknown=True),
    )


def store_like(run: Run, trained_on: dict[str, Any], pack: Pack, name: str | None) -> FeatureStore:
    """The pack's features that a run reads; raises if they are of another kind than those it was trained on."""
    if not isinstance(trained_on, dict) or not {"name", "kind", "width"} <= trained_on.keys():
        raise InputError(f"{run.folder / 'data.json'} does not describe the run's features; copy the run again.")
    store = FeatureStore(pack.feature_folder(name or trained_on["name"]))
    if (store.kind, store.width) != (trained_on["kind"], trained_on["width"]):
        raise InputError(
            f"{store.folder} has {store.kind} features of width {store.width}, but {run.folder} was trained on "
            f"{trained_on['name']}, {trained_on['kind']} features of width {trained_on['width']}. Extract the same, or "
            "name others with `features`.",
            Step("extract", pack.folder, like=run.folder),
        )
    return store
