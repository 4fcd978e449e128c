"""Where a model of `transformers` is: `hf:FOLDER` or `hf:NAME`, and what kind of model it is."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Literal

from tellapart.core.errors import InputError
from tellapart.core.hub import files_only, open_pretrained, quietly, transformers
from tellapart.core.model_names import PREFIX, model_folder

Role = Literal["matcher", "captioner", "backbone"]
MATCHERS = ("align", "altclip", "chinese_clip", "clip", "clipseg", "metaclip_2", "siglip", "siglip2")
"""Values of `model_type` with an image and a text encoder."""
CAPTIONERS = ("blip", "git", "vision-encoder-decoder")
"""Values of `model_type` whose decoder this package steps through; others are asked in a chat."""
TOKENIZER_FILES = ("tokenizer.json", "vocab.*", "*.model", "spiece*", "bpe.*")
OWN = ("tellapart-matcher", "tellapart-captioner")
"""Values of `model_type` of this package's own models in the hub's format."""


def read_config(source: str) -> Any:
    """The configuration of a model; InputError if there is none."""
    name = model_folder(source)
    local = Path(name).is_dir()
    if local and not (Path(name) / "config.json").is_file():
        raise InputError(
            f"{name} is not a model of transformers: it has no config.json. Give a folder that a model was saved into."
        )
    auto = transformers().AutoConfig
    try:
        with quietly():
            return auto.from_pretrained(name, local_files_only=files_only(name))
    except (OSError, ValueError, KeyError) as error:
        raise InputError(cannot_open(source, error)) from error


def cannot_open(source: str, error: Exception) -> str:
    """Why a model could not be opened, in a sentence."""
    name = source.removeprefix(PREFIX)
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if Path(model_folder(source)).is_dir():
        return f"'{name}' cannot be opened as a model of transformers: {reason}"
    return (
        f"'{name}' is not a folder, and it cannot be had from the model hub ({reason}). Check the name, or download "
        "the model where there is a network and give its folder."
    )


def role_of(config: Any) -> Role:
    """What a model of this configuration is for."""
    kind, classes = str(config.model_type), list(getattr(config, "architectures", None) or [])
    if kind == OWN[0] or kind in MATCHERS or classes == ["BlipModel"]:
        return "matcher"
    if kind == OWN[1] or kind in CAPTIONERS or kind in chat_kinds():
        return "captioner"
    return "backbone"


def chat_kinds() -> dict[str, str]:
    """Values of `model_type` that transformers lists as models from images and text to text, with their classes."""
    names: dict[str, str] = importlib.import_module(
        "transformers.models.auto.modeling_auto"
    ).MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    return names


def check_tokenizer(name: str) -> None:
    """Raise an InputError where a local folder has no file of a tokenizer."""
    if Path(name).is_dir() and not any(file for kind in TOKENIZER_FILES for file in Path(name).glob(kind)):
        raise InputError(f"{name} has no tokenizer (tokenizer.json); save the tokenizer into the model's folder.")


def open_tokenizer(source: str) -> Any:
    """The model's own tokenizer; InputError if it has none."""
    name = model_folder(source)
    check_tokenizer(name)
    try:
        with quietly():
            return transformers().AutoTokenizer.from_pretrained(name, local_files_only=files_only(name))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError) as error:
        reason = (str(error).strip().splitlines() or ["unknown error"])[0]
        raise InputError(
            f"'{source.removeprefix(PREFIX)}' has no tokenizer that can be opened ({reason}); save the tokenizer into "
            "the model's folder."
        ) from error


def open_weights(loader: Any, source: str, config: Any, pretrained: bool) -> Any:
    """A model of an auto class or a class of transformers, with its weights or with random ones."""
    name = model_folder(source)
    try:
        if pretrained:
            return open_pretrained(loader, name)[0]
        with quietly():
            return loader.from_config(config) if hasattr(loader, "from_config") else loader(config)
    except InputError:
        raise
    except (OSError, ValueError, KeyError) as error:
        raise InputError(cannot_open(source, error)) from error
