"""Where a model of `transformers` is: `hf:FOLDER` or `hf:NAME`, and what kind of model it is."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from tellapart.core.errors import InputError

PREFIX = "hf:"
Role = Literal["matcher", "captioner", "backbone"]
MATCHERS = ("align", "altclip", "chinese_clip", "clip", "clipseg", "metaclip_2", "siglip", "siglip2")
"""Values of `model_type` with an image and a text encoder."""
CAPTIONERS = ("blip", "git", "vision-encoder-decoder")
"""Values of `model_type` whose decoder this package steps through; others are asked in a chat."""
TOKENIZER_FILES = ("tokenizer.json", "vocab.*", "*.model", "spiece*", "bpe.*")
OWN = ("tellapart-matcher", "tellapart-captioner")
"""Values of `model_type` of this package's own models in the hub's format."""


def is_hub(name: object) -> bool:
    """Whether a model is named as `hf:…`."""
    return str(name).startswith(PREFIX)


def transformers() -> Any:
    """The package transformers; InputError where it is not installed."""
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise InputError("Models named hf:… need transformers; run `pip install transformers`.") from error


def model_folder(source: str) -> str:
    """The folder of a model, or its hub name; of a folder of sentence-transformers, the CLIP model inside."""
    name = source.removeprefix(PREFIX)
    folder = Path(name).expanduser()
    if not folder.is_dir():
        return name
    if (folder / "modules.json").is_file():
        return _sentence_transformers(folder)
    return str(folder)


def _sentence_transformers(folder: Path) -> str:
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        kinds = [str(module["type"]).rsplit(".", 1)[-1] for module in modules]
        inside = folder / str(modules[0]["path"])
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise InputError(f"{folder / 'modules.json'} cannot be read ({error}); save the model again.") from error
    further = [kind for kind in kinds[1:] if kind != "Normalize"]
    if further:
        raise InputError(
            f"{folder} is a model of sentence-transformers with the module {further[0]} after its first; only CLIP "
            "models without further modules are matchers."
        )
    return str(inside)


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
        return auto.from_pretrained(name, local_files_only=local)
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
        return transformers().AutoTokenizer.from_pretrained(name, local_files_only=Path(name).is_dir())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError) as error:
        reason = (str(error).strip().splitlines() or ["unknown error"])[0]
        raise InputError(
            f"'{source.removeprefix(PREFIX)}' has no tokenizer that can be opened ({reason}); save the tokenizer into "
            "the model's folder."
        ) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No progress bar of transformers: the command line has its own."""
    settings = importlib.import_module("transformers.utils.logging")
    shown = bool(settings.is_progress_bar_enabled())
    settings.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            settings.enable_progress_bar()


def open_weights(loader: Any, source: str, config: Any, pretrained: bool) -> Any:
    """A model of an auto class or a class of transformers, with its weights or with random ones."""
    name = model_folder(source)
    try:
        if pretrained:
            with _quiet():
                return loader.from_pretrained(name, local_files_only=Path(name).is_dir())
        return loader.from_config(config) if hasattr(loader, "from_config") else loader(config)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(cannot_open(source, error)) from error
