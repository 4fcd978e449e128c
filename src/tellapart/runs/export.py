"""A run as a folder in the hub's format, with a model card: `transformers` opens it, and so does `hf:FOLDER`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from safetensors.torch import save_file
from torch import nn

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, write_json, write_text
from tellapart.core.hub import quietly
from tellapart.core.model_names import is_hub
from tellapart.core.protocols import Matcher
from tellapart.models.captioners.pretrained import PretrainedCaptionerModel
from tellapart.models.hub.source import OWN
from tellapart.models.matchers.pretrained import PretrainedModel
from tellapart.runs.hub_recipe import origin
from tellapart.runs.run import Run, open_run
from tellapart.runs.run_features import FILE
from tellapart.runs.weights_hash import with_hash

TASKS = {True: "zero-shot-image-classification", False: "image-to-text"}
"""The hub's names of what a matcher and a captioner do."""


def export_hub(run: Path | str, out: Path, overwrite: bool = False) -> Path:
    """Write the model of a run into the folder `out`, which must not exist unless `overwrite` is set."""
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists; choose another folder, or replace it with `overwrite=True`.")
    if is_hub(run):
        raise InputError(f"'{run}' is a model in the hub's format already.")
    opened = open_run(run)
    with atomic_folder(out) as partial:
        if isinstance(opened.model, PretrainedModel | PretrainedCaptionerModel):
            _save_pretrained(opened, opened.model, partial)
        else:
            _save_own(opened, partial)
        write_text(partial / "README.md", model_card(opened, out.name))
    return out


def _save_pretrained(run: Run, model: PretrainedModel | PretrainedCaptionerModel, folder: Path) -> None:
    """Configuration, weights, tokenizer and processor as transformers stores them."""
    if isinstance(model, PretrainedModel) and not isinstance(model.image_head, nn.Identity):
        raise InputError(
            f"{run.folder} has ConVSE's heads, for which a {type(model.model).__name__} has no place; share the run "
            "folder itself."
        )
    model.reading.save(folder, model.model.config)
    with quietly():
        model.model.save_pretrained(str(folder))


def _save_own(run: Run, folder: Path) -> None:
    """The run folder without its log, and a configuration that names the kind of model."""
    for name in ("recipe.json", "vocabulary.json", "data.json"):
        shutil.copyfile(run.folder / name, folder / name)
    backbone = str((run.data.get("features") or {}).get("backbone", ""))
    if backbone.endswith(FILE) and (run.folder / Path(backbone).name).is_file():
        shutil.copyfile(run.folder / Path(backbone).name, folder / Path(backbone).name)
    weights = {name: value.detach().cpu().contiguous().clone() for name, value in run.model.state_dict().items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt", **with_hash(weights)})
    kind = OWN[0] if isinstance(run.model, Matcher) else OWN[1]
    name = "TellapartMatcher" if kind == OWN[0] else "TellapartCaptioner"
    write_json(folder / "config.json", {"model_type": kind, "architectures": [name], "recipe": run.recipe.name})


def model_card(run: Run, name: str, use: Sequence[str] = ()) -> str:
    """The model card: a header that the hub reads, how the model was trained, and how to use it (`use`: its lines)."""
    matches = isinstance(run.model, Matcher)
    own = not isinstance(run.model, PretrainedModel | PretrainedCaptionerModel)
    source = "" if own else origin(str(getattr(run.model_stage.model, "source", "")))
    header = ["---", f"library_name: {'tellapart' if own else 'transformers'}", f"pipeline_tag: {TASKS[matches]}",
              "tags: [tellapart]", *([f"base_model: {source}"] if source else []), "---"]  # fmt: skip
    opens = "tellapart.load_matcher" if matches else "tellapart.load_captioner"
    lines = [
        *header,
        "",
        f"# {name}",
        "",
        f"A {'matcher of images and texts' if matches else 'captioner'}, trained by tellapart's recipe "
        f"`{run.recipe.name}`: {run.recipe.about}",
        "",
        "| | |",
        "|---|---|",
        f"| paper | {run.recipe.paper} |",
        f"| data | {run.data.get('pack', '')} |",
        f"| seed | {run.recipe.seed} |",
        f"| stages | {', '.join(stage.name for stage in run.recipe.stages)} |",
        *([f"| began as | {source} |"] if source else []),
        "",
        *(use or ("```python", "import tellapart", f'model = {opens}("hf:FOLDER")', "```")),
    ]
    return "\n".join(lines) + "\n"
