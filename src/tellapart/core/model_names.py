"""Names of models of transformers: `hf:FOLDER`, or `hf:NAME` of one on the model hub."""

from __future__ import annotations

import json
from pathlib import Path

from tellapart.core.errors import InputError

PREFIX = "hf:"


def is_hub(name: object) -> bool:
    """Whether a model is named as `hf:…`."""
    return str(name).startswith(PREFIX)


def hub_hint(name: str | Path) -> str:
    """Of a name that is no run: how to write it where it is a model of transformers, or may be one of the hub's."""
    path = Path(name)
    if (path / "config.json").is_file() or (path / "modules.json").is_file():
        return f" For a model of transformers, write {PREFIX}{name}."
    if len(path.parts) == 2 and not path.is_absolute() and not path.exists() and str(name)[0] not in ".~":
        return f" For a model of the hub, write {PREFIX}{name}."
    return ""


def model_folder(source: str) -> str:
    """The folder of a model, or its hub name; of a folder of sentence-transformers, the CLIP model inside."""
    name = source.removeprefix(PREFIX)
    if not name.strip():
        raise InputError(f"'{PREFIX}' names no model; write {PREFIX}FOLDER, or {PREFIX}NAME for one of the model hub.")
    folder = Path(name).expanduser()
    if not folder.is_dir():
        if name.startswith(("/", "~", ".")) or name.count("/") > 1:  # a name on the hub is NAME or OWNER/NAME
            raise InputError(f"There is no folder {name}; give the folder that a model was saved into.")
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
