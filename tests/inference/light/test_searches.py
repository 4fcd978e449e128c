"""Captions of many images are searched for in threads."""

import numpy as np
import pytest

from tellapart.inference.light import searches
from tellapart.inference.light.exported_run import open_exported
from tellapart.inference.light.searches import ExportedSearches, likeliest
from tellapart.inference.light.steps import ExportedCaptioner

IMAGES = 7


@pytest.fixture(scope="module")
def captioner() -> ExportedCaptioner:
    run = open_exported("bundled", "captioner")
    return ExportedCaptioner(run.folder, "float32", len(run.vocabulary))


@pytest.fixture(scope="module")
def cells() -> np.ndarray:
    run = open_exported("bundled", "captioner")
    random = np.random.default_rng(0)
    found = random.gamma(1.0, 1.0, (IMAGES, run.rows, int(run.features["width"])))
    return np.asarray(found * np.linspace(0.2, 2, IMAGES)[:, None, None], np.float32)  # captions of unlike lengths


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many images each search had."""
    sizes: list[int] = []

    class Counted(ExportedSearches):
        def plain(self, last: bool = False) -> searches.Captions:
            sizes.append(self.images)
            return super().plain(last)

    monkeypatch.setattr(searches, "ExportedSearches", Counted)
    monkeypatch.setattr(searches, "IMAGES_PER_THREAD", 2)
    return sizes


@pytest.mark.parametrize(("threads", "expected"), [(1, [7]), (2, [3, 4]), (3, [2, 2, 3]), (9, [2, 2, 3])])
def test_threads_find_the_same_captions(
    captioner: ExportedCaptioner, cells: np.ndarray, counted: list[int], threads: int, expected: list[int]
) -> None:
    vocabulary = open_exported("bundled", "captioner").vocabulary
    whole = ExportedSearches(captioner, vocabulary, cells).plain()
    shared = likeliest(captioner, vocabulary, cells, 3, threads)
    assert sorted(counted) == expected
    np.testing.assert_array_equal(shared.tokens, whole.tokens)
    np.testing.assert_allclose(shared.log_probability, whole.log_probability, atol=1e-4)
    assert shared.attention is not None and whole.attention is not None
    np.testing.assert_allclose(shared.attention, whole.attention, atol=1e-5)


def test_few_images_need_no_thread(captioner: ExportedCaptioner, cells: np.ndarray) -> None:
    vocabulary = open_exported("bundled", "captioner").vocabulary
    assert searches.IMAGES_PER_THREAD > IMAGES
    assert len(likeliest(captioner, vocabulary, cells, 3, threads=8)) == IMAGES
    assert len(likeliest(captioner, vocabulary, cells[:1], 3, threads=8)) == 1
