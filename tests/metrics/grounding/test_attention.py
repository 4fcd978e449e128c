"""Grounding scores: each branch by hand, then everything against a plain loop.

Images here are 500 x 500 pixels, so a fraction times 500 is a pixel. Class 0 is "dog", 1 "man", 2 "ball".
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.metrics.grounding.attention import (
    GeneratedWords,
    GroundingOutcomes,
    Outcomes,
    References,
    _first,
    attention_accuracy,
    class_rates,
    compare_captions,
    grounding_scores,
    hallucination,
)
from tellapart.metrics.grounding.bootstrap import accuracy_samples, draws, interval, paired_difference, score_samples
from tellapart.metrics.grounding.boxes import best_overlap, overlap, pixel_size

DOG, MAN, BALL = 0, 1, 2
HERE, THERE = (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)
SIZE = pixel_size(np.asarray([500, 500, 500]), np.asarray([500, 500, 500]))


def references(*sentences: tuple[int, list[tuple[int, tuple[float, ...]]], list[int]]) -> References:
    """Each sentence: its image, its annotated (class, box) words, and classes among its other words."""
    words = [(n, k, box) for n, (_, annotated, _) in enumerate(sentences) for k, box in annotated]
    others = [(n, k) for n, (_, _, classes) in enumerate(sentences) for k in classes]
    return References(
        np.asarray([image for image, _, _ in sentences]),
        np.asarray([n for n, _, _ in words], dtype=np.int64),
        np.asarray([k for _, k, _ in words], dtype=np.int64),
        np.asarray([[box] for _, _, box in words], dtype=np.float64).reshape(-1, 1, 4),
        np.ones((len(words), 1), dtype=np.bool_),
        np.asarray([n for n, _ in others], dtype=np.int64),
        np.asarray([k for _, k in others], dtype=np.int64),
    )


def generated(*words: tuple[int, int, tuple[float, ...]]) -> GeneratedWords:
    """Each word: image, class, box attended to."""
    return GeneratedWords(
        np.asarray([image for image, _, _ in words], dtype=np.int64),
        np.asarray([k for _, k, _ in words], dtype=np.int64),
        np.asarray([box for _, _, box in words], dtype=np.float64).reshape(-1, 4),
    )


def scores(said: GeneratedWords, truth: References) -> dict[str, float]:
    return grounding_scores(compare_captions(said, truth, SIZE), 3)


def test_right_class_right_place() -> None:
    """One dog said where the one dog is: precision 1, recall 1 over 1 class, F1 100 both ways."""
    found = scores(generated((0, DOG, HERE)), references((0, [(DOG, HERE)], [])))
    assert found["f1_all"] == found["f1_loc"] == 100


def test_right_class_wrong_place() -> None:
    found = scores(generated((0, DOG, THERE)), references((0, [(DOG, HERE)], [])))
    assert found["f1_all"] == found["f1_loc"] == 0


def test_class_absent_is_a_miss_for_all_and_passed_over_for_loc() -> None:
    """Said: dog (right), ball (in no reference). GT classes: dog, man; the man was not said.

    all: precision (dog 1, man -, [ball 0 is no GT class]) = (1 + 0) / 2; recall (dog 1, man 0) / 2 = 1/2. F1 = 50.
    loc: the ball and the unsaid man are passed over, but man stays a GT class that contributes 0: the same 1/2, 1/2.
    """
    found = scores(generated((0, DOG, HERE), (0, BALL, HERE)), references((0, [(DOG, HERE), (MAN, THERE)], [])))
    assert found["precision_all"] == found["recall_all"] == found["f1_all"] == 50
    assert found["f1_loc"] == 50


def test_class_absent_lowers_precision_of_a_class_other_images_have() -> None:
    """Image 0 says dog and has a man; image 1 says dog and has a dog, right place.

    all: precision dog = (0 + 1) / 2, man never said = 0, over 2 GT classes: 25. Recall dog 1, man 0: 50. F1 = 33.3.
    loc: precision dog = 1, man 0: 50; recall dog 1: 50.
    """
    truth = references((0, [(MAN, HERE)], []), (1, [(DOG, HERE)], []))
    found = scores(generated((0, DOG, HERE), (1, DOG, HERE)), truth)
    assert found["precision_all"] == 25 and found["recall_all"] == 50
    assert found["f1_all"] == pytest.approx(2 * 25 * 50 / 75)
    assert found["f1_loc"] == 50


def test_lemma_among_other_words_is_passed_over() -> None:
    """The first reference annotates the dog; the second only mentions one, without a box.

    Precision of dog = 1 of 1 (the second is passed over). With the mention gone it is 1 of 2.
    """
    said = generated((0, DOG, HERE))
    assert scores(said, references((0, [(DOG, HERE)], []), (0, [], [DOG])))["precision_all"] == 100
    assert scores(said, references((0, [(DOG, HERE)], []), (0, [], [MAN])))["precision_all"] == 50


def test_several_references_count_one_by_one() -> None:
    """Dog said HERE. References: dog HERE, dog THERE, dog HERE. Precision 2/3, recall 2/3."""
    truth = references((0, [(DOG, HERE)], []), (0, [(DOG, THERE)], []), (0, [(DOG, HERE)], []))
    found = scores(generated((0, DOG, HERE)), truth)
    assert found["precision_all"] == found["recall_all"] == pytest.approx(200 / 3)


def test_first_annotated_occurrence_decides_precision() -> None:
    """The reference has dogs HERE, then THERE. Said: one dog, THERE: precision 0 (the first is HERE), recall 1/2."""
    found = scores(generated((0, DOG, THERE)), references((0, [(DOG, HERE), (DOG, THERE)], [])))
    assert found["precision_all"] == 0 and found["recall_all"] == 50


def test_first_predicted_occurrence_decides_recall() -> None:
    """Said: dog THERE, then dog HERE. The one annotated dog is HERE: recall 0 (the first is THERE), precision 1/2."""
    found = scores(generated((0, DOG, THERE), (0, DOG, HERE)), references((0, [(DOG, HERE)], [])))
    assert found["recall_all"] == 0 and found["precision_all"] == 50


def test_overlap_at_the_threshold() -> None:
    """Boxes of 10 x 10 and 10 x 5 pixels: (9 - 0 + 1) * (4 - 0 + 1) = 50 of 100 is 0.5, which is not over 0.5.

    One more row of pixels, 60 of 100, is. Without the +1 the first would be 9 * 4 / 81 = 0.44.
    """
    truth = references((0, [(DOG, (0, 0, 9 / 500, 9 / 500))], []))
    assert overlap(np.asarray([0, 0, 9, 9]), np.asarray([0, 0, 9, 4])) == 0.5
    half = scores(generated((0, DOG, (0, 0, 9 / 500, 4 / 500))), truth)
    assert half["precision_all"] == half["recall_all"] == half["f1_loc"] == 0
    assert scores(generated((0, DOG, (0, 0, 9 / 500, 5 / 500))), truth)["f1_loc"] == 100


def test_any_of_several_boxes_will_do() -> None:
    boxes = np.asarray([[HERE, THERE]])
    box = np.asarray([THERE])
    assert best_overlap(box, boxes, np.asarray([[True, True]]), SIZE[:1])[0] == 1
    assert best_overlap(box, boxes, np.asarray([[True, False]]), SIZE[:1])[0] < 0.1
    assert best_overlap(box, boxes, np.asarray([[False, False]]), SIZE[:1])[0] == 0


def test_a_caption_with_no_visual_word() -> None:
    """Nothing said: precision and recall 0, F1 0, no hallucination. Nothing annotated either: all 0, no division."""
    truth = references((0, [(DOG, HERE)], []))
    assert scores(generated(), truth)["f1_all"] == 0
    assert scores(generated(), references((0, [], [])))["f1_all"] == 0
    assert hallucination(generated(), 1, np.asarray([DOG]), np.asarray([0])) == {
        "chair_words": 0.0,
        "chair_captions": 0.0,
    }


def test_attention_accuracy_is_a_mean_over_classes() -> None:
    """Dog 3 of 4, man 0 of 1: mean over classes 37.5, over words 60."""
    outcomes = Outcomes(np.zeros(5, int), np.asarray([0, 0, 0, 0, 1]), np.asarray([True, True, True, False, False]))
    assert attention_accuracy(outcomes, 3) == {"attention_accuracy": 37.5, "attention_accuracy_words": 60.0}
    rates, counts = class_rates(outcomes, 3)
    assert rates.tolist() == [0.75, 0, 0] and counts.tolist() == [4, 1, 0]


def test_hallucination_by_hand() -> None:
    """Image 0 says dog and ball, its references mention dog: 1 of 2. Image 1 says man, mentioned: 0 of 1.

    Words 1/3, captions 1/2.
    """
    said = generated((0, DOG, HERE), (0, BALL, HERE), (1, MAN, HERE))
    found = hallucination(said, 2, np.asarray([DOG, MAN]), np.asarray([0, 1]))
    assert found["chair_words"] == pytest.approx(100 / 3) and found["chair_captions"] == 50


def loop_scores(said: GeneratedWords, truth: References, classes: int) -> dict[str, float]:
    """The published procedure, word by word."""
    found = {}
    annotated = {int(k) for k in truth.word_class}
    for mode in ("all", "loc"):
        precision: dict[int, list[int]] = {k: [] for k in range(classes)}
        recall: dict[int, list[int]] = {k: [] for k in range(classes)}
        for n, image in enumerate(truth.image.tolist()):
            words = [w for w in range(len(truth.caption)) if truth.caption[w] == n]
            own = [int(truth.word_class[w]) for w in words]
            other = {int(k) for s, k in zip(truth.other_caption, truth.other_class) if s == n}
            mine = [p for p in range(len(said.image)) if said.image[p] == image]
            mine_classes = [int(said.word_class[p]) for p in mine]
            right = [[overlap(said.box[p] * 500, truth.boxes[w, 0] * 500) > 0.5 for w in words] for p in mine]
            for row, k in enumerate(mine_classes):
                if k in own:
                    precision[k].append(int(right[row][own.index(k)]))
                elif k not in other and mode == "all":
                    precision[k].append(0)
            for column, k in enumerate(own):
                if k in mine_classes:
                    recall[k].append(int(right[mine_classes.index(k)][column]))
                elif mode == "all":
                    recall[k].append(0)
        p = 100 * sum(np.mean(v) for v in precision.values() if v) / max(len(annotated), 1)
        r = 100 * sum(np.mean(v) for v in recall.values() if v) / max(len(annotated), 1)
        found[f"f1_{mode}"] = 2 * p * r / (p + r) if p + r else 0.0
    return found


def random_case(seed: int) -> tuple[GeneratedWords, References]:
    random = np.random.default_rng(seed)
    boxes = (HERE, THERE, (0.0, 0.0, 1.0, 1.0), (0.1, 0.0, 0.55, 0.9))
    draw = lambda: (int(random.integers(3)), boxes[int(random.integers(4))])  # noqa: E731
    sentences = [
        (
            int(random.integers(3)),
            [draw() for _ in range(random.integers(4))],
            random.integers(0, 3, random.integers(3)).tolist(),
        )
        for _ in range(6)
    ]
    words = sorted(((int(random.integers(3)), *draw()) for _ in range(random.integers(8))), key=lambda word: word[0])
    return generated(*words), references(*sentences)


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_equals_the_plain_loop(seed: int) -> None:
    said, truth = random_case(seed)
    found, expected = scores(said, truth), loop_scores(said, truth, 3)
    assert found["f1_all"] == pytest.approx(expected["f1_all"])
    assert found["f1_loc"] == pytest.approx(expected["f1_loc"])


def test_a_sample_that_draws_each_image_once_gives_the_score() -> None:
    said, truth = random_case(3)
    outcomes: GroundingOutcomes = compare_captions(said, truth, SIZE)
    once = np.ones((1, 3), dtype=np.float32)
    sampled = score_samples(outcomes, np.arange(3), 3, once)
    expected = grounding_scores(outcomes, 3)
    for name in ("f1_all", "f1_loc"):
        assert sampled[name][0] == pytest.approx(expected[name], abs=1e-4)
    accuracy = accuracy_samples(outcomes.recall, np.arange(3), 3, once)[0]
    assert accuracy == pytest.approx(attention_accuracy(outcomes.recall, 3)["attention_accuracy"], abs=1e-4)


def test_intervals_hold_the_score_and_differences_have_a_sign() -> None:
    random = np.random.default_rng(0)
    image, word_class = np.repeat(np.arange(100), 5), random.integers(0, 3, 500)
    worse = Outcomes(image, word_class, random.random(500) < 0.3)
    better = Outcomes(image, word_class, random.random(500) < 0.6)
    low, high = interval(accuracy_samples(worse, np.arange(100), 3, draws(100)))
    assert low < attention_accuracy(worse, 3)["attention_accuracy"] < high
    assert paired_difference(worse, better, np.arange(100), 3)[0] > 0


def test_sizes_are_scaled_to_the_long_side() -> None:
    assert pixel_size(np.asarray([100]), np.asarray([50])).tolist() == [[500, 250, 500, 250]]


def test_first_index_of_each_query() -> None:
    """The smallest, the largest, a missing one in between and beyond, and a key that occurs twice."""
    assert _first(np.array([5, 3, 5, 9]), np.array([9, 3, 4, 5, 10])).tolist() == [3, 1, -1, 0, -1]
    assert _first(np.array([], dtype=np.int64), np.array([1, 2])).tolist() == [-1, -1]
