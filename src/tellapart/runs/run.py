"""A run folder: everything needed to use a trained model, and nothing of the data it was trained on.

RUN/
  recipe.json          the recipe with every override
  vocabulary.json
  data.json            the pack's name and fingerprint, the features' name, kind, width and how they were made; or
                       `vision`, what a model with its own backbone sees; paths in it start at the run folder
  model.safetensors    the last stage's model; written when it has ended
  stages/              NAME.safetensors: a stage's model, written when it has ended; NAME.best.safetensors until then;
                       NAME.objective.safetensors: what the objective has learned, where later stages take it over
  hub/                 for a model of transformers: its configuration, tokenizer and image processor
  log.jsonl
  checkpoints/         what resuming reads; removed when the run is finished
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from tellapart.core.checksums import CHECKSUMS, check_sizes
from tellapart.core.errors import InputError
from tellapart.core.explained import explained
from tellapart.core.files import atomic_path, make_folder, read_json, write_json
from tellapart.core.model_names import hub_hint, is_hub
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.features.backbones import tuned_metadata
from tellapart.models.hub.reading import FOLDER as HUB
from tellapart.models.hub.reading import OwnReading
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.pixel_backbone import PixelBackbone
from tellapart.models.layers.trainable_backbone import TrainableBackbone
from tellapart.models.vision import Vision, vision_facts, with_vision
from tellapart.runs.bundled import run_folder
from tellapart.runs.old_names import renamed_weights
from tellapart.runs.quantised import restore
from tellapart.runs.recipe import Recipe, Stage
from tellapart.runs.registry import recipe_from_plain, to_plain
from tellapart.runs.weights_hash import check_hash, with_hash
from tellapart.text.vocabulary import Vocabulary

DAMAGED = "copy the run again from where it is whole, or train it again"
OWN = "own"
"""The kind of features, and the way to resize, of a model that has its own image processor."""


@dataclass(frozen=True)
class Run:
    """An opened run: its model with its weights, and what its inputs must be."""

    folder: Path
    recipe: Recipe
    """Objectives stay as stored, since a model is used without them; `read_recipe` reads them."""
    data: dict[str, Any]
    vocabulary: Vocabulary
    model: nn.Module
    model_stage: Stage
    """The stage whose `model` describes the architecture."""

    @property
    def last_stage(self) -> Stage:
        """The recipe's last stage."""
        return self.recipe.stages[-1]

    @property
    def what(self) -> str:
        """What this is, for the start of an error: a run of a recipe, or a model of transformers of a kind."""
        if is_hub(self.recipe.name):
            inside: Any = self.model.model
            return f"'{self.folder}' is a model of kind {inside.config.model_type}"
        return f"{self.folder} is a {self.recipe.name} run"


def build_model(stage: Stage, inputs: ModelInputs) -> nn.Module:
    """The model that a stage describes, with its backbone if it has one; InputError if memory does not hold it."""
    try:
        return _built(stage, inputs)
    except (RuntimeError, MemoryError) as error:  # torch has no class for it on a CPU
        if isinstance(error, RuntimeError) and "alloc" not in str(error) and "memory" not in str(error):
            raise
        raise InputError(
            f"The model of the stage '{stage.name}' does not fit into memory; make it smaller, with a smaller "
            f"{stage.name}.model.embedding for example."
        ) from error


def _built(stage: Stage, inputs: ModelInputs) -> nn.Module:
    if stage.vision is not None:
        return with_vision(stage.vision, stage.model.build, inputs)
    model: nn.Module = stage.model.build(inputs)
    inside = getattr(model, "backbone", None)
    if isinstance(inside, TrainableBackbone) and stage.sampling.pixels:
        inside.network.preprocessing = replace(inside.network.preprocessing, size=stage.sampling.pixels)
    return model


def save_weights(model: nn.Module, path: Path) -> None:
    """Write a model's weights, replacing the file at once. A backbone inside can be loaded from the file by itself."""
    with atomic_path(path) as partial:
        weights = {k: v.detach().cpu().contiguous().clone() for k, v in model.state_dict().items()}
        save_file(weights, partial, metadata=with_hash(weights, _backbone_metadata(model)))


def _backbone_metadata(model: nn.Module) -> dict[str, str] | None:
    for name in ("vision", "backbone"):
        inside = getattr(model, name, None)
        if isinstance(inside, PixelBackbone | TrainableBackbone):
            return tuned_metadata(inside.network, f"{name}.network.network.")
    return None


def load_weights(model: nn.Module, path: Path) -> None:
    """Read weights into the model; those stored in fewer bits get the model's own precision."""
    with explained(path, DAMAGED):
        stored = load_file(path)
        check_hash(path, stored)
        model.load_state_dict(renamed_weights(restore(stored)))


def stage_path(folder: Path, stage: str) -> Path:
    """Where a run keeps the weights that a stage ended with; the file is written when the stage ends."""
    return folder / "stages" / f"{stage}.safetensors"


def best_path(folder: Path, stage: str) -> Path:
    """Where a run keeps the best weights so far of a stage that has not ended."""
    return folder / "stages" / f"{stage}.best.safetensors"


def describe_run(folder: Path, recipe: Recipe, pack: Pack, store: FeatureStore | None) -> None:
    """Write everything of a run folder but the weights.

    A model that sees pixels has `vision` in place of `features`: the backbone is in the run's own weights.
    """
    make_folder(folder)
    (folder / CHECKSUMS).unlink(missing_ok=True)  # written again when training has ended
    write_json(folder / "recipe.json", to_plain(recipe))
    pack.vocabulary.save(folder / "vocabulary.json")
    save_assets(folder, model_stage(recipe).model)
    features = None if store is None else {"name": store.name, "rows": store.most_rows, **store.facts}
    described = {
        "pack": pack.manifest["name"],
        "fingerprint": pack.fingerprint,
        "rules": pack.manifest["rules"],
    }
    vision = seen_facts(model_stage(recipe)) if store is None else None
    if vision is not None:
        described["vision"] = {**vision, "backbone": "model.safetensors"}
    write_json(folder / "data.json", {**described, "features": features})


def save_assets(folder: Path, model: Any) -> None:
    """Store the configuration, tokenizer and image processor of a stage's model, if it is one of transformers."""
    if hasattr(model, "configuration") and not (folder / HUB / "config.json").is_file():
        model.reading().save(folder / HUB, model.configuration())


def seen_facts(stage: Stage) -> dict[str, Any] | None:
    """What a model sees of images through its own backbone; None if it has none."""
    if stage.vision is not None:
        return vision_facts(stage.vision)
    if hasattr(stage.model, "configuration"):
        return own_facts() if stage.sampling.pixels else None
    name = getattr(stage.model, "backbone", "")
    if not name or not stage.sampling.pixels:
        return None
    facts = vision_facts(Vision(name, features="grid", pixels=stage.sampling.pixels))
    return facts if stage.sampling.squash else {**facts, "resize": "crop"}


def forget_run(folder: Path) -> None:
    """Undo `describe_run` where nothing has been trained yet; weights and any other files stay."""
    if any((folder / name).exists() for name in ("checkpoints", "stages", "model.safetensors")) or not folder.is_dir():
        return
    for name in ("recipe.json", "vocabulary.json", "data.json", "log.jsonl"):
        (folder / name).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def own_facts() -> dict[str, Any]:
    """What a model of transformers sees of an image: what its own processor makes of it."""
    return {"name": OWN, "kind": OWN, "rows": 1, "width": 0, "resize": OWN}


def inputs_for(vocabulary: Vocabulary, features: dict[str, Any] | None, load_pretrained: bool) -> ModelInputs:
    """What a model is built for: its vocabulary, and the width and number of feature rows."""
    facts = features or {"width": 0, "rows": 0}
    return ModelInputs(vocabulary, int(facts["width"]), int(facts["rows"]), load_pretrained)


def read_recipe(folder: Path | str, objectives: bool = True) -> Recipe:
    """The recipe of a run folder; without `objectives`, they stay as stored and their classes are not imported."""
    folder = run_folder(folder)
    if not (folder / "recipe.json").is_file():
        raise InputError(
            f"{folder} is not a run folder: it has no recipe.json. Train a recipe to make one.{hub_hint(folder)}"
        )
    with explained(folder / "recipe.json", DAMAGED):
        recipe = recipe_from_plain(read_json(folder / "recipe.json"), objectives)
        if not recipe.stages or not all(isinstance(stage, Stage) for stage in recipe.stages):
            raise InputError(f"{folder / 'recipe.json'} has no stages; {DAMAGED}.")
    return recipe


def open_run(folder: Path | str, stage: str | None = None, device: torch.device | str = "cpu") -> Run:
    """A run's model, rebuilt from its folder alone; `stage` picks the model that an earlier stage ended with.

    `bundled:captioner` and `bundled:matcher` are the runs that come with the package; `hf:FOLDER_OR_NAME` is a model of
    transformers.
    """
    if is_hub(folder):
        from tellapart.runs.hub_run import open_hub_run

        return open_hub_run(str(folder), device)
    folder = run_folder(folder)
    recipe = read_recipe(folder, objectives=False)
    weights = folder / "model.safetensors" if stage is None else stage_path(folder, stage)
    described = model_stage(recipe, stage)
    if not weights.is_file() and (folder / "model.safetensors").is_file():
        raise InputError(f"{folder} has no {weights.name}: it was trained, or copied, without stage '{stage}'.")
    if not weights.is_file():
        raise InputError(f"{folder} has no {weights.name}: its training has not finished. Resume it first.")
    check_sizes(folder, DAMAGED)
    data = read_json(folder / "data.json")
    vocabulary = Vocabulary.load(folder / "vocabulary.json")
    with explained(folder, DAMAGED):
        inputs = inputs_for(vocabulary, data["features"], load_pretrained=False)
        assets = folder / HUB
        model = build_model(described, replace(inputs, assets=assets if assets.is_dir() else None))
    load_weights(model, weights)
    reading = getattr(model, "reading", None)
    if isinstance(reading, OwnReading):
        vocabulary = reading.vocabulary
    return Run(folder, recipe, data, vocabulary, model.to(device).eval(), described)


def model_stage(recipe: Recipe, name: str | None = None) -> Stage:
    """The stage whose `model` describes the model that stage `name` (default: the last) ends with."""
    names = [stage.name for stage in recipe.stages]
    if name is not None and name not in names:
        raise InputError(f"This recipe has no stage '{name}'; its stages are {', '.join(names)}.")
    index = len(names) - 1 if name is None else names.index(name)
    while recipe.stages[index].model is None:
        start = recipe.stages[index].start
        if start == "previous" and index > 0:
            index -= 1
        elif start in names[:index]:
            index = names.index(start)
        else:
            raise InputError(
                f"Stage '{names[index]}' has no model and starts from '{start}', which is not an earlier stage."
            )
    return recipe.stages[index]


def with_described_model(recipe: Recipe) -> Recipe:
    """The recipe in which stages that start from a run folder and have no model get that run's: the new run then needs
    no other folder."""
    names = {stage.name for stage in recipe.stages}
    stages = []
    for stage in recipe.stages:
        if stage.model is None and stage.start not in names | {"fresh", "previous"}:
            described = open_run(stage.start).model_stage
            stage = replace(stage, model=described.model, vision=stage.vision or described.vision)
        stages.append(stage)
    return replace(recipe, stages=tuple(stages))
