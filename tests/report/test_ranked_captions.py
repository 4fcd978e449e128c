"""Ranked captions: which images succeed, fail, or separate two matchers, and what is shown of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption, PackImage
from tellapart.data.write_pack import write_pack
from tellapart.evaluation.retrieval import SplitScores
from tellapart.report.ranked_captions import (
    Ranking,
    comparison_section,
    examples_section,
    most_different,
    successes_and_failures,
)
from tellapart.text.vocabulary import Vocabulary

IMAGES, EACH = 4, 5
OWNER = torch.arange(IMAGES * EACH) // EACH


def ranking(name: str, right: tuple[int, ...]) -> Ranking:
    """A matcher that ranks this many right captions first for each image, then wrong ones, then the other right."""
    scores = torch.zeros(IMAGES, len(OWNER))
    for image, count in enumerate(right):
        own = (image == OWNER).nonzero().squeeze(1)
        scores[image, own] = -1.0
        scores[image, own[:count]] = 1.0
    return Ranking(name, SplitScores(scores, OWNER, np.arange(IMAGES), np.arange(len(OWNER))))


def drawn_pack(folder: Path) -> Pack:
    (folder / "images").mkdir(parents=True)
    for image in range(IMAGES):
        Image.new("RGB", (8, 8)).save(folder / "images" / f"{image}.png")
    captions = [Caption(i // EACH, f"caption {i} <b>", ("caption",), "test") for i in range(len(OWNER))]
    images = [PackImage(str(i), f"{i}.png", "test") for i in range(IMAGES)]
    words = Vocabulary.from_words(["caption"])
    return write_pack(folder / "pack", "drawn", str(folder / "images"), images, captions, words, {})


def test_success_has_only_right_captions_first_and_failure_none() -> None:
    successes, failures = successes_and_failures(ranking("a", (3, 0, 2, 5)), count=9, seed=0)
    assert sorted(successes) == [0, 3] and failures == [1]  # two of three right are neither


def test_matchers_differ_most_where_precision_among_five_does() -> None:
    """Precision at 5: 1/5, 3/5, 5/5, 0 and 3/5, 3/5, 1/5, 1/5: differences 2/5, 0, 4/5, 1/5."""
    assert most_different(ranking("a", (1, 3, 5, 0)), ranking("b", (3, 3, 1, 1)), count=3) == [2, 0, 3]


def test_sections_mark_right_and_wrong_captions(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path)
    shown = examples_section(ranking("a", (3, 0, 2, 5)), pack)
    assert shown.count("<img") == 3 and shown.count('class="right"') == 6 and shown.count('class="wrong"') == 3
    assert "&lt;b&gt;" in shown and "<b>" not in shown
    assert shown.index("Success cases") < shown.index("caption 0 ") < shown.index("Failure cases")
    compared = comparison_section([ranking("base", (1, 3, 5, 0)), ranking("with LTD", (3, 3, 1, 1))], pack, count=1)
    assert compared.count("<img") == 1 and compared.count('class="right"') == 6 and compared.count('class="wrong"') == 4
    assert compared.index("base") < compared.index("with LTD")


def test_nothing_to_show_is_said(tmp_path: Path) -> None:
    assert "<p>None.</p>" in examples_section(ranking("a", (5, 5, 5, 5)), drawn_pack(tmp_path))
