"""How the features of a run were made, so that new images get the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.core.explained import explained
from tellapart.core.types import Images
from tellapart.features.backbones import BACKBONES
from tellapart.features.extract import KINDS
from tellapart.images.decoding import Resize
from tellapart.runs.run_features import backbone_identity, run_features


@dataclass(frozen=True)
class FeatureSpec:
    """Backbone and settings of features. Runs with equal specs can share the features of an image."""

    backbone: str = field(compare=False)
    """A name, or the path of a file of weights."""
    kind: str
    resize: Resize
    rows: int
    """Rows of features per image."""
    width: int
    regions_from: str = ""
    """fixed, or the name of a detector; empty unless the kind is regions."""
    preprocessing: str = ""
    """The preprocessing of the backbone, as text, when the run was trained."""
    names: tuple[str, ...] = ()
    """Names of regions, if the features contain them."""
    cut: int = 0
    """Side in pixels of regions that are cropped and encoded one by one; 0 if they are not."""
    cells: int = 0
    """How many of the rows are cells of the whole image, which follow the regions."""
    identity: str = ""
    """Equal for equal backbones, wherever their files are."""

    def __post_init__(self) -> None:
        if not self.identity:
            object.__setattr__(self, "identity", backbone_identity(self.backbone))

    @property
    def regions(self) -> int:
        """Rows that are regions."""
        return self.rows - self.cells

    def __str__(self) -> str:
        return f"{self.rows} rows ({self.kind}) of {self.backbone}, {self.resize}"


def run_spec(data: Mapping[str, Any], run: Path) -> FeatureSpec:
    """The spec of what a run with this data.json sees of an image; InputError if photos cannot be seen so."""
    with explained(run / "data.json", "copy the run again from where it is whole, or train it again"):
        return feature_spec(run_features(data, run), run)


def feature_spec(features: Mapping[str, Any] | None, run: Path | str) -> FeatureSpec:
    """The spec of features that a run describes; InputError if they cannot be made from an image file."""
    if features is None:
        raise InputError(
            f"{run} does not say what it sees of an image: it was trained without images, or on pixels with a model "
            "whose backbone cannot be loaded by itself. It cannot be used on photos; train it on features."
        )
    backbone = str(features.get("backbone", ""))
    if not backbone or backbone.startswith("imported") or features["kind"] not in KINDS:
        raise InputError(
            f"{run} was trained on imported features '{features.get('name', '')}', which cannot be made for photos; "
            "train on extracted features."
        )
    origin = str(features.get("regions_from", ""))
    if origin == "detections":
        raise InputError(
            f"{run} was trained on regions from detections in its pack, and photos have none; train on a grid, on "
            "fixed regions, or on regions that a detector found during extraction."
        )
    stored = features.get("preprocessing")
    return FeatureSpec(
        backbone,
        str(features["kind"]),
        resize=features["resize"],
        rows=int(features["rows"]),
        width=int(features["width"]),
        regions_from=origin,
        preprocessing="" if stored is None else preprocessing_text(stored),
        names=tuple(features["label_names"]) if features.get("named") else (),
        cut=int(features.get("cut", 0)),
        cells=int(features.get("cells", 0)),
    )


def preprocessing_text(preprocessing: Mapping[str, Any]) -> str:
    """A backbone's preprocessing as text, the same from JSON and from memory."""
    parts = {key: list(value) if isinstance(value, tuple) else value for key, value in preprocessing.items()}
    return ", ".join(f"{key} {parts[key]}" for key in sorted(parts))


def serves(given: FeatureSpec, needed: FeatureSpec) -> bool:
    """Whether features of one spec are enough for a model that needs another: equal ones, or a grid for its mean."""
    if given == needed:
        return True
    # Only the backbones of this package are known to have the mean of the grid as their vector.
    means = given.kind == "grid" and needed.kind == "vector" and needed.backbone in BACKBONES
    unknown = "" in (given.preprocessing, needed.preprocessing)
    same = (given.identity, given.resize) == (needed.identity, needed.resize)
    return means and same and (unknown or given.preprocessing == needed.preprocessing)


def as_needed(images: Images, needed: FeatureSpec) -> Images:
    """Features that `serves` accepts, as the model needs them: the mean of a grid [I, 1, D] for a vector model."""
    if needed.kind != "vector" or images.features.shape[1] == 1:
        return images
    return Images(images.pooled().unsqueeze(1), images.mask[:, :1])
