"""CLIPScore by any matcher, against a plain loop over the paper's definition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tellapart as ta
from tellapart.inference.clip_scores import clip_scores
from tellapart.metrics.captions.clip_score import PROMPT, clip_score, ref_clip_score

Hub = Callable[[str], Path]


def test_a_matcher_scores_captions_by_the_papers_definition(hub: Hub, photos: list[Path]) -> None:
    matcher = ta.load_matcher(f"hf:{hub('clip')}", device="cpu")
    captions = ["a red ball", "a dog", "the cat", "a blue ball on the left"]
    references = [["a ball", "red"], ["the dog"], ["a cat", "cat", "white"], ["blue"]]
    found = clip_scores(matcher, photos, captions, references)
    pixels = matcher.encode_images(photos)
    for row, (caption, group) in enumerate(zip(captions, references)):
        (text,) = matcher.encode_texts(PROMPT + caption)
        own = 2.5 * max(float(pixels[row] @ text), 0.0)
        best = max(max(float(text @ one), 0.0) for one in matcher.encode_texts([PROMPT + r for r in group]))
        assert found["clip_score"].each[row] == pytest.approx(own, abs=1e-5)
        expected = 2 * own * best / (own + best) if own + best else 0.0
        assert found["ref_clip_score"].each[row] == pytest.approx(expected, abs=1e-5)
    assert found["clip_score"].corpus == pytest.approx(found["clip_score"].each.mean())


def test_opposite_vectors_score_zero_and_divide_nothing() -> None:
    image, caption = np.array([[1.0, 0.0]]), np.array([[-1.0, 0.0]])
    assert clip_score(image, caption).corpus == 0
    assert ref_clip_score(image, caption, [np.array([[1.0, 0.0]])]).corpus == 0


def test_counts_must_fit(hub: Hub, photos: list[Path]) -> None:
    matcher = ta.load_matcher(f"hf:{hub('clip')}", device="cpu")
    with pytest.raises(ta.InputError, match="one caption per image"):
        clip_scores(matcher, photos, ["a ball"])
    with pytest.raises(ta.InputError, match="at least one reference"):
        clip_scores(matcher, photos[:1], ["a ball"], [[]])
