"""`python -m tellapart.cli.reliability` on captions with confidences."""

import json
from pathlib import Path

import pytest

from tellapart.cli.reliability import main
from tellapart.data.pack import Pack


def test_tables_and_a_diagram(photo_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pack = Pack(photo_world / "pack")
    said = [pack.captions[pack.captions_of[row][0]].text for row in range(len(pack.images))]
    listed = [
        {"image": image.id, "plain": text, "against": "a zebra", "confidence": {"plain": 0.95, "against": 0.1}}
        for image, text in zip(pack.images, said)
    ]
    (tmp_path / "captions.json").write_text(json.dumps(listed))
    given = [str(tmp_path / "captions.json"), "--data", str(pack.folder)]
    assert main([*given, "--out", str(tmp_path / "diagram.svg")]) == 0
    printed, drawn = capsys.readouterr().out, (tmp_path / "diagram.svg").read_text()
    assert f"| 90 to 100% | {len(listed)} | 95% | 100% |" in printed  # people's own captions are true
    assert f"| 10 to 20% | {len(listed)} | 10% | 0% |" in printed and "| 0 to 10% | 0 | - | - |" in printed
    assert drawn.startswith("<?xml") and main([*given, "--out", str(tmp_path / "again.svg")]) == 0
    assert (tmp_path / "again.svg").read_text() == drawn


def test_captions_without_confidence(photo_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pack = Pack(photo_world / "pack")
    (tmp_path / "captions.json").write_text(json.dumps([{"image": pack.images[0].id, "plain": "a dog"}]))
    assert main([str(tmp_path / "captions.json"), "--data", str(pack.folder)]) == 1
    assert "has no confidences" in capsys.readouterr().err
    (tmp_path / "captions.json").write_text(json.dumps([{"image": "unknown", "plain": "a dog"}]))
    assert main([str(tmp_path / "captions.json"), "--data", str(pack.folder)]) == 1
    assert "has no image 'unknown'" in capsys.readouterr().err
