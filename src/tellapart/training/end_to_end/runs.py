"""Run folders of a joint model, which open like those of `tellapart train`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors.torch import save_file
from torch import Tensor, nn

from tellapart.core.checksums import write_checksums
from tellapart.core.files import atomic_folder, atomic_path, link_or_copy, make_folder, write_json
from tellapart.data.pack import Pack
from tellapart.features.backbones import TUNED_NETWORK, TUNED_SIZE, load_backbone
from tellapart.losses import Contrast
from tellapart.models.matchers.dual_encoder import DualEncoder
from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.ranking import Ranking
from tellapart.runs.recipe import Recipe, Stage
from tellapart.runs.registry import to_plain
from tellapart.runs.weights_hash import with_hash
from tellapart.text.rules import TextRules
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.end_to_end.joint import JointModel

if TYPE_CHECKING:
    from tellapart.training.end_to_end.train import EndToEnd

START_AND_END = 2
BACKBONE = "backbone.safetensors"


def save_runs(
    out: Path, model: JointModel, pack: Pack, pieces: Vocabulary, backbone: str, size: int, settings: EndToEnd
) -> Path:
    """Write OUT/backbone.safetensors, OUT/matcher and OUT/captioner; returns OUT.

    Each run folder has the backbone inside (one file on a disk with hard links), so that it can be moved alone.
    """
    features = _save_backbone(out, model.backbone, backbone, size)
    matcher = _matcher_stage(model, settings.matcher)
    captioner = Stage("joint", Likelihood(smoothing=settings.joint.weights.smoothing), settings.captioner)
    subwords = TextRules(words="wordpiece", min_count=0, max_length=settings.matcher.positions - START_AND_END)
    _save(out / "matcher", model.matcher, matcher, pieces, pack, {"rules": subwords.as_dict(), "features": features})
    assert model.captioner is not None
    rules = pack.manifest["rules"]
    _save(out / "captioner", model.captioner, captioner, pack.vocabulary, pack, {"rules": rules, "features": features})
    return out


def save_matcher(out: Path, model: JointModel, matcher: DualEncoder, pack: Pack, backbone: str, size: int) -> Path:
    """Write OUT/backbone.safetensors and OUT/matcher, a matcher that reads the words of the pack; returns OUT."""
    facts = {"rules": pack.manifest["rules"], "features": _save_backbone(out, model.backbone, backbone, size)}
    _save(out / "matcher", model.matcher, _matcher_stage(model, matcher), pack.vocabulary, pack, facts)
    return out


def _save_backbone(out: Path, network: nn.Module, name: str, size: int) -> dict[str, Any]:
    make_folder(out)
    with atomic_path(out / BACKBONE) as partial:
        save_file(_weights(network), partial, metadata={TUNED_NETWORK: name, TUNED_SIZE: str(size)})
    return _features(out / BACKBONE)


def _matcher_stage(model: JointModel, matcher: DualEncoder) -> Stage:
    return Stage("joint", Ranking(Contrast("info-nce", temperature=1 / float(model.matcher.scale()))), matcher)


def _features(backbone: Path) -> dict[str, Any]:
    """What data.json says about the features: a grid of the tuned backbone."""
    network = load_backbone(str(backbone))
    height, width = network.map_size()
    return {
        "name": "end-to-end-grid",
        "rows": height * width,
        "kind": "grid",
        "width": network.width,
        "backbone": BACKBONE,
        "preprocessing": asdict(network.preprocessing),
        "resize": "squash",
    }


def _save(
    folder: Path, model: nn.Module, stage: Stage, vocabulary: Vocabulary, pack: Pack, facts: dict[str, Any]
) -> None:
    recipe = Recipe(
        name=f"end-to-end-{folder.name}",
        paper="no paper's; trained with its backbone",
        about="Trained end to end; `stages` describes the model, and how to tune it further.",
        stages=(stage,),
        features="grid",
    )
    with atomic_folder(folder) as partial:
        write_json(partial / "recipe.json", to_plain(recipe))
        vocabulary.save(partial / "vocabulary.json")
        write_json(partial / "data.json", {"pack": pack.manifest["name"], "fingerprint": pack.fingerprint, **facts})
        save_file(_weights(model), partial / "model.safetensors", metadata=with_hash(_weights(model)))
        link_or_copy(folder.parent / BACKBONE, partial / BACKBONE)
        write_checksums(partial)


def _weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().cpu().contiguous().clone() for name, value in model.state_dict().items()}
