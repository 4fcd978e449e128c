"""CIDErBtw by hand, against a plain loop, and its invalid inputs."""

import random

import numpy as np
import pytest

from tellapart.core.errors import InputError
from tellapart.metrics.captions.cider import cider_d
from tellapart.metrics.captions.cider_between import cider_between
from tellapart.metrics.captions.document_frequency import DocumentFrequency
from tellapart.metrics.captions.evaluate import evaluate


def test_by_hand() -> None:
    """Three images, so ln(3 / frequency): "red" is in two (ln 1.5), "car", "bus" and "cat" in one (ln 3).

    "red car" and image 1's "red bus" share "red" alone. Unigrams: 0.405^2 / (0.405^2 + 1.099^2) = 0.1199; no pair is
    shared; equal lengths. CIDEr-D = 10 * 0.1199 / 4 = 0.2997. Image 2's "cat" shares nothing.
    """
    references = [["red car"], ["red bus"], ["cat"]]
    low, high = np.log(3 / 2) ** 2, np.log(3) ** 2
    expected = 10 * low / (low + high) / 4
    found = cider_between(["red car", "red bus", "cat"], references, [[1], [0, 2], [0, 1]])
    assert found.each.tolist() == pytest.approx([expected, expected / 2, 0])
    assert found.corpus == pytest.approx(expected / 2)


def test_equals_a_plain_loop() -> None:
    """Similar images with unequally many references: the mean over images of the mean over their references."""
    draw, words = random.Random(5), ["a", "red", "blue", "dog", "cat", "runs", "sits", "on", "the", "mat"]
    texts = [
        [" ".join(draw.choices(words, k=draw.randint(2, 7))) for _ in range(draw.randint(1, 4))] for _ in range(12)
    ]
    candidates = [" ".join(draw.choices(words, k=5)) for _ in texts]
    neighbours = [draw.sample([row for row in range(12) if row != image], 3) for image in range(12)]
    table = DocumentFrequency.from_references(texts)
    expected = [
        np.mean([
            np.mean([cider_d([candidate], [[reference]], table).corpus for reference in texts[row]]) for row in rows
        ])
        for candidate, rows in zip(candidates, neighbours)
    ]  # fmt: skip
    found = cider_between(candidates, texts, neighbours)
    assert found.each == pytest.approx(np.array(expected)) and found.corpus == pytest.approx(np.mean(expected))


def test_a_caption_of_its_neighbour_scores_higher_than_its_own_words() -> None:
    references = [["a dog runs fast"], ["a cat sits still"], ["two old men"]]
    own, other = ["a dog runs fast"], ["a cat sits still"]
    low, high = (cider_between([*one, "x", "x"], references, [[1], [0], [0]]).each[0] for one in (own, other))
    assert low < high


@pytest.mark.parametrize(
    ("neighbours", "message"),
    [
        ([[1]], "2 captions but similar images for 1"),
        ([[1], []], "Caption 1 has no similar image"),
        ([[0], [0]], "Caption 0: 0 is not another image"),
        ([[2], [0]], "Caption 0: 2 is not another image"),
    ],
)
def test_invalid_neighbours(neighbours: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cider_between(["a", "b"], [["a"], ["b"]], neighbours)


def test_registered() -> None:
    candidates, references = ["Red car.", "red bus", "Cat"], [["red car"], ["red bus"], ["cat"]]
    found = evaluate(candidates, references, ("CIDErBtw",), neighbours=[[1], [0], [0]])
    assert found["CIDErBtw"].each[0] > 0
    with pytest.raises(InputError, match="give them with `neighbours`"):
        evaluate(candidates, references, ("CIDErBtw",))
