"""A run folder whose model was exported: opened without torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.files import read_json
from tellapart.features.weights import WEIGHTS
from tellapart.inference.light.sessions import graph_path
from tellapart.runs.bundled import PREFIX, Name, run_folder, run_name
from tellapart.runs.run_features import backbone_path
from tellapart.text.vocabulary import Vocabulary

PARTS = {"captioner": ("start", "step"), "matcher": ("image", "text"), "chooser": ("image", "text")}
"""The graphs of each kind of model."""


@dataclass(frozen=True)
class ExportedRun:
    """What a run folder says of its inputs."""

    folder: Path

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """data.json."""
        found: dict[str, Any] = read_json(self.folder / "data.json")
        return found

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        return Vocabulary.load(self.folder / "vocabulary.json")

    @cached_property
    def exported(self) -> Mapping[str, Any]:
        """exported.json: what the graphs do not say themselves."""
        found: dict[str, Any] = read_json(self.folder / "exported.json")
        return found

    @property
    def features(self) -> Mapping[str, Any]:
        """How the cells of an image are made."""
        found: Mapping[str, Any] = self.data["features"]
        return found

    @property
    def size(self) -> int:
        """Side of the square image in pixels."""
        return int(self.features["preprocessing"]["size"])

    @property
    def rows(self) -> int:
        """Cells per image."""
        return int(self.features["rows"])

    @cached_property
    def backbone(self) -> Path:
        """The file of weights whose graph computes the cells."""
        return backbone_file(str(self.features["backbone"]), self.folder)

    def reads_as(self, other: ExportedRun) -> bool:
        """Whether both read the same cells of an image."""
        mine, theirs = ((run.backbone, run.size, run.rows, run.features["resize"]) for run in (self, other))
        return mine == theirs

    @cached_property
    def boxes(self) -> np.ndarray:
        """The cells as boxes in fractions of the image [R, 4]."""
        side = int(np.sqrt(self.rows))
        edges = np.arange(side) / side
        top, left = (part.reshape(-1) for part in np.meshgrid(edges, edges, indexing="ij"))
        return np.stack([left, top, left + 1 / side, top + 1 / side], 1).astype(np.float32)


def backbone_file(name: str, folder: Path) -> Path:
    """The weights of a backbone: those of the package, or a file of the run."""
    inside = WEIGHTS / f"{name}.safetensors"
    return inside if inside.is_file() else Path(backbone_path(name, folder))


def is_exported(model: str | os.PathLike[str], name: Name) -> bool:
    """Whether a captioner or matcher can be used without torch: the bundled one, or a run folder with graphs."""
    named = run_name(model, name)
    try:
        folder = run_folder(named)
    except InputError:
        return False
    if named.startswith(PREFIX) and PARTS[named.removeprefix(PREFIX)] != PARTS[name]:
        return False
    return all(graph_path(folder / part, "float32").is_file() for part in PARTS[name])


def open_exported(model: str | os.PathLike[str], name: Name) -> ExportedRun:
    """The run of an exported model."""
    return ExportedRun(run_folder(run_name(model, name)))
