"""ECCV Caption: its files, mAP@R by hand and by a plain loop, queries that it does not ask."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.core.errors import InputError
from tellapart.metrics.retrieval.eccv import eccv_metrics, eccv_positives, map_at_r, read_eccv
from tellapart.metrics.retrieval.recall import r_precision


def test_positives_by_hand(tmp_path: Path) -> None:
    """Image 7 has captions 1 and 2; caption 3 has images 7 and 8. Image 9 and caption 55 are strangers."""
    (tmp_path / "eccv_image_to_caption.json").write_text('{"7": [1, 2, 55], "9": [1]}')
    (tmp_path / "eccv_caption_to_image.json").write_text('{"3": [7, 8]}')
    names = ["COCO_val2014_000000000007", "8"]
    of_images, of_captions = eccv_positives(read_eccv(tmp_path), names, [1, 2, 3])
    assert of_images.tolist() == [[True, True, False], [False, False, False]]
    assert of_captions.tolist() == [[False, False], [False, False], [True, True]]
    scores = torch.tensor([[0.9, 0.1, 0.5], [0.2, 0.3, 0.4]])
    found = eccv_metrics(scores, of_images, of_captions)
    # image 7 ranks captions 1, 3, 2: of its R = 2 first answers one is right, at rank 1
    assert found["i2t_map_at_r"] == 0.5 and found["i2t_r_precision"] == 0.5 and found["i2t_r1"] == 100
    assert found["t2i_map_at_r"] == 1 and found["t2i_r_precision"] == 1 and found["t2i_r1"] == 100


def test_a_late_hit_counts_less_than_an_early_one() -> None:
    scores = torch.tensor([[4.0, 3.0, 2.0, 1.0]])
    early, late = torch.tensor([[True, False, False, True]]), torch.tensor([[False, True, False, True]])
    assert map_at_r(scores, early) == 0.5 and map_at_r(scores, late) == 0.25
    assert r_precision(scores, early) == r_precision(scores, late) == 0.5
    assert map_at_r(scores, torch.zeros(1, 4, dtype=torch.bool)) == 0


def by_loop(scores: np.ndarray, positive: np.ndarray) -> float:
    values = []
    for row, right in zip(scores, positive):
        correct = set(np.flatnonzero(right).tolist())
        if not correct:
            continue
        ranking = sorted(range(len(row)), key=lambda column: -row[column])
        total = 0.0
        for r in range(1, len(correct) + 1):
            if ranking[r - 1] in correct:
                total += len(correct & set(ranking[:r])) / r
        values.append(total / len(correct))
    return sum(values) / len(values) if values else 0.0


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_against_a_loop(seed: int, queries: int, answers: int) -> None:
    random = np.random.default_rng(seed)
    scores, positive = random.integers(0, 4, (queries, answers)).astype(float), random.random((queries, answers)) < 0.4
    found = map_at_r(torch.from_numpy(scores), torch.from_numpy(positive))
    assert found == pytest.approx(by_loop(scores, positive))


def test_other_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"eccv_image_to_caption.json cannot be read"):
        read_eccv(tmp_path)
    for text in ("[1]", "{", '{"x": [1]}', '{"1": 2}'):
        (tmp_path / "eccv_image_to_caption.json").write_text(text)
        with pytest.raises(InputError, match="not a file of ECCV Caption"):
            read_eccv(tmp_path)
