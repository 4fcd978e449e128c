"""A run as a folder of ONNX graphs that works without torch and without the run: `tellapart export --format onnx`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tellapart.core.checksums import write_checksums
from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, write_text
from tellapart.exported.export import export_run
from tellapart.exported.hub_captioner_graphs import export_hub_captioner
from tellapart.exported.hub_graphs import export_hub_matcher
from tellapart.images.reading import read_squashed
from tellapart.models.captioners.pretrained import PretrainedCaptionerModel
from tellapart.models.hub.reading import OwnReading
from tellapart.models.matchers.pretrained import PretrainedModel
from tellapart.runs.export import model_card
from tellapart.runs.run import Run, open_run

GRAPHS = ("ONNX graphs for onnxruntime, with what they need; exported.json says how to call them.",)
COPIED = ("recipe.json", "vocabulary.json", "data.json", "model.safetensors", "backbone.safetensors")


def export_onnx(run: Path | str, out: Path, images: Sequence[Path] = (), overwrite: bool = False) -> Path:
    """Write the graphs of a run into the folder `out`, which must not exist unless `overwrite` is set.

    A captioner or matcher of this package becomes a run folder that `load_captioner` and `load_matcher` open without
    torch; `images` are training images, for the ranges of int8. A dual encoder of transformers becomes image.onnx and
    text.onnx with its tokenizer and image processor, a captioner image.onnx and next.onnx.
    """
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists; choose another folder, or replace it with `overwrite=True`.")
    opened = open_run(run)
    with atomic_folder(out) as partial:
        if isinstance(opened.model, PretrainedModel):
            export_hub_matcher(opened.model, partial)
        elif isinstance(opened.model, PretrainedCaptionerModel):
            export_hub_captioner(opened.model, partial)
        elif isinstance(getattr(opened.model, "reading", None), OwnReading):
            raise InputError(f"{run} is a chat model; as ONNX, matchers, BLIP and ViT-GPT2 can be exported.")
        else:
            _export_own(opened, partial, images)
        write_text(partial / "README.md", model_card(opened, out.name, GRAPHS))
        write_checksums(partial)
    return out


def _export_own(run: Run, folder: Path, images: Sequence[Path]) -> None:
    if not images:
        raise InputError("The ranges of int8 come from training images; give a folder of them with `images`.")
    for name in COPIED:
        if (run.folder / name).is_file():
            shutil.copyfile(run.folder / name, folder / name)
    facts = run.data.get("features") or {"preprocessing": {"size": 224}}
    size = int(facts["preprocessing"]["size"])
    export_run(folder, [read_squashed(path, size) for path in images], shared=True)
