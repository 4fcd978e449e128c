"""Columns added to a pack after the fact."""

from pathlib import Path

import numpy as np
import pytest

from tellapart.cli.annotate import AnnotateOptions, annotate
from tellapart.core.errors import InputError
from tellapart.data.scenes import make_scenes


def test_nouns_and_own_targets(tmp_path: Path) -> None:
    pack = make_scenes(tmp_path / "pack", count=12, size=32)
    before = np.array(pack.column("nouns").values)
    values = np.random.default_rng(0).normal(size=(60, 7)).astype(np.float32)
    np.save(tmp_path / "mine.npy", values)
    pack = annotate(AnnotateOptions(tmp_path / "pack", nouns=True, sentence_targets=str(tmp_path / "mine.npy")))
    assert np.array_equal(pack.column("nouns").values, before)
    targets = pack.column("targets-mine")
    assert targets.per == "caption" and targets.values.dtype == np.float16 and targets.facts["width"] == 7
    np.testing.assert_allclose(targets.values, values, atol=2e-3)


def test_nothing_asked(tmp_path: Path) -> None:
    make_scenes(tmp_path / "pack", count=12, size=32)
    with pytest.raises(InputError, match="Nothing to do"):
        annotate(AnnotateOptions(tmp_path / "pack"))
    with pytest.raises(InputError, match="is not a pack"):
        annotate(AnnotateOptions(tmp_path, nouns=True))
