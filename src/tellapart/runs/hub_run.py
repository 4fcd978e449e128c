"""A model of `transformers`, `hf:FOLDER_OR_NAME`, opened like a run."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import torch

from tellapart.core.errors import InputError
from tellapart.core.files import read_json
from tellapart.core.model_names import PREFIX, model_folder
from tellapart.data.feature_choice import NO_FEATURES
from tellapart.data.sampling import Sampling
from tellapart.models.captioners.pretrained import PretrainedCaptioner
from tellapart.models.hub.chat import ChatCaptioner
from tellapart.models.hub.reading import needed_processor
from tellapart.models.hub.source import CAPTIONERS, OWN, read_config, role_of
from tellapart.models.inputs import ModelInputs
from tellapart.models.matchers.pretrained import Pretrained, size_of
from tellapart.runs.recipe import Recipe, Stage
from tellapart.runs.run import Run, build_model, open_run, own_facts

BATCH = 32


def hub_model(source: str) -> Any:
    """The settings of a matcher or a captioner for `hf:FOLDER_OR_NAME`; InputError if it is neither."""
    config = read_config(source)
    role = role_of(config)
    if role == "backbone":
        raise InputError(
            f"'{source.removeprefix(PREFIX)}' is a model of kind {config.model_type}, which is neither a matcher "
            "(CLIP, SigLIP, ALIGN, Chinese-CLIP) nor a captioner (BLIP, GIT, ViT-GPT2, or a chat model that sees "
            "images); as a `backbone` it gives features."
        )
    folder = model_folder(source)
    if role == "matcher":
        return Pretrained(folder)
    return PretrainedCaptioner(folder) if config.model_type in CAPTIONERS else ChatCaptioner(folder)


def hub_stage(source: str, name: str = "hub") -> Stage:
    """A stage with the model of `hf:FOLDER_OR_NAME` that reads images with the model's own processor."""
    model = hub_model(source)
    side = size_of(model.reading(), model.configuration())
    evaluation = "retrieval" if isinstance(model, Pretrained) else "captions"
    return Stage(name, None, model=model, sampling=Sampling(batch=BATCH, pixels=side), evaluation=evaluation)


def open_hub_run(source: str, device: torch.device | str = "cpu") -> Run:
    """The model with its weights, ready for images and texts. A folder of this package's own model is a run."""
    folder = model_folder(source)
    if is_own_folder(folder):
        return open_run(folder, device=device)
    stage = hub_stage(source)
    reading = stage.model.reading()
    needed_processor(reading, source.removeprefix(PREFIX))
    model = build_model(stage, ModelInputs(reading.vocabulary, 0))
    recipe = Recipe(source, "", "a model of transformers", (stage,), features=NO_FEATURES)
    data = {"pack": "", "fingerprint": "", "rules": {}, "features": None, "vision": own_facts()}
    return Run(_folder(stage.model.source), recipe, data, reading.vocabulary, model.to(device).eval(), stage)


def is_own_folder(folder: str | Path) -> bool:
    """Whether a folder in the hub's format holds a model of this package."""
    path = Path(folder) / "config.json"
    return path.is_file() and (Path(folder) / "recipe.json").is_file() and read_json(path).get("model_type") in OWN


def _folder(name: str) -> Path:
    """The folder of the model's files: its own, or that of the hub's cache."""
    if Path(name).is_dir():
        return Path(name)
    cached: Any = importlib.import_module("transformers.utils").cached_file
    return Path(str(cached(name, "config.json"))).parent
