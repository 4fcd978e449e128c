"""Plain captions chosen by truth: the value by hand, what each term does, and weights that are found."""

from dataclasses import replace

import numpy as np
import pytest

from evidence_world import VOCABULARY, VectorJudge, evidence
from tellapart.inference.agreement import agreements
from tellapart.inference.fit_choice import Outcomes
from tellapart.inference.fit_truest import LIMITS, cost, different_words, fit_truest
from tellapart.inference.light.decoded import Captions
from tellapart.inference.proposals import join_proposals
from tellapart.inference.truest import (
    COMMON,
    PREFIX,
    WEIGHTS,
    PlainTerms,
    chosen_plain,
    evidence_for_plain,
    plain_terms,
    rarity,
    truest,
)
from tellapart.inference.word_evidence import WordEvidence
from tellapart.text.vocabulary import END, PAD

NONE = dict.fromkeys(WEIGHTS, 0.0)


def known(**weights: float) -> WordEvidence:
    """Evidence with weights of the choice; those that are not given are 0."""
    plain = {PREFIX + name: value for name, value in {**NONE, **weights}.items()}
    return replace(evidence(), settings={**evidence().settings, **plain})


def beam(*texts: str, chance: tuple[float, ...] | None = None) -> Captions:
    ids = [[*VOCABULARY.encode(text.split()), END] for text in texts]
    longest = max(map(len, ids))
    tokens = np.asarray([row + [PAD] * (longest - len(row)) for row in ids])
    return Captions(tokens, np.asarray(chance or [-4.0] * len(texts)))


def chosen_text(found: Captions, of: WordEvidence, image: list[float]) -> str:
    (row,) = truest(found, of, np.asarray([image], np.float32), VOCABULARY).tokens.tolist()
    return VOCABULARY.decode(row)


def test_the_value_is_the_sum_of_its_terms() -> None:
    texts, of = ("a dog", "a dog on a sofa", "a red dog"), known()
    image = np.asarray([[0.9, 0.4, 0.3, 0.0]], np.float32)
    proposals = join_proposals([beam(*texts, chance=(-3.0, -6.0, -5.0))], 1, VOCABULARY)
    terms = plain_terms(proposals, of, image)
    truth = of.probabilities(image)[0]
    named = ((0,), (0, 1), (2, 0))
    assert terms.truth[0] == pytest.approx([sum(np.log(truth[row]) for row in rows) for rows in named], abs=1e-5)
    assert terms.fluency[0, [0]] == pytest.approx([-3.0 / 3]), "END counts as a word"
    assert terms.agreement[0] == pytest.approx(agreements(texts, texts, of.rarity))
    assert terms.rare[0] == pytest.approx([rarity(text.split(), of.rarity) for text in texts])
    assert terms.length[0].tolist() == [2, 5, 3]
    weights = {"agreement": 0.3, "truth": 0.7, "fluency": 1.1, "rare": 0.2, "length": 0.4}
    value = sum(weights[name] * getattr(terms, name)[0] for name in WEIGHTS)
    assert chosen_plain(terms, weights)[0] == np.where(terms.usable[0], value, -np.inf).argmax()


def test_truth_leaves_out_what_the_image_does_not_show() -> None:
    found, dog = beam("a red dog", "a dog"), [1.0, 0.0, 0.1, 0.0]
    assert chosen_text(found, known(fluency=1.0), dog) == "a red dog"
    assert chosen_text(found, known(truth=1.0), dog) == "a dog"


@pytest.mark.parametrize(
    ("term", "better", "worse"),
    [("rare", 0.5, 0.0), ("length", 6.0, 5.0), ("fluency", -1.0, -2.0), ("truth", -1.0, -2.0)],
)
def test_more_of_every_term_is_better(term: str, better: float, worse: float) -> None:
    zeros = np.zeros((1, 2))
    terms = PlainTerms(np.ones((1, 2), bool), zeros, zeros, zeros, zeros, zeros)
    terms = replace(terms, **{term: np.asarray([[worse, better]])})
    assert chosen_plain(terms, {**NONE, term: 1.0}).tolist() == [1]
    assert chosen_plain(terms, NONE).tolist() == [0], "without a difference the likeliest stays"


def test_captions_with_unsupported_words_are_out_but_for_the_likeliest() -> None:
    dog = [1.0, 0.0, 0.0, 0.0]
    assert chosen_text(beam("a zebra", "a sofa"), known(length=1.0), dog) == "a zebra"
    assert chosen_text(beam("a zebra", "a dog"), known(truth=1.0), dog) == "a dog"
    assert chosen_text(beam("a dog", "a dog on a zebra"), known(length=1.0), dog) == "a dog"


def test_images_choose_apart_from_each_other() -> None:
    found = beam("a dog", "a sofa", "a dog", "a sofa")
    images = np.asarray([[1, 0, 0, 0], [0, 1, 0, 0]], np.float32)
    rows = truest(found, known(truth=1.0), images, VOCABULARY).tokens.tolist()
    assert [VOCABULARY.decode(row) for row in rows] == ["a dog", "a sofa"]


def test_words_of_one_image_in_55_are_rare() -> None:
    assert rarity(["dog"], {"dog": COMMON}) == 0 and rarity(["dog", "cat"], {"dog": 1.0, "cat": COMMON + 1}) == 1
    assert rarity([], {}) == 0


def test_a_judge_without_weights_chooses_no_plain_caption() -> None:
    assert evidence_for_plain(None) is None and evidence_for_plain(VectorJudge()) is None
    assert evidence_for_plain(VectorJudge(evidence())) is None
    of = known()
    assert evidence_for_plain(VectorJudge(of)) is of


def test_limits_cost_more_than_truth_gives() -> None:
    likeliest = {"right": 0.0, "cider": 1.0, "wrong_object": 0.2, "unnamed": 1.0, "words": 100.0, "length": 9.0}
    good = {**likeliest, "unnamed": 0.8, "wrong_object": 0.1, "cider": 1.1, "words": 110.0, "length": 10.0}
    assert cost(good, likeliest) == pytest.approx(0.8 + 0.25)
    for name, least in LIMITS.items():
        worse = {**good, name: (least - 0.05) * likeliest[name]}
        assert cost(worse, likeliest) == pytest.approx(1.05 + 0.5)


def test_weights_are_found_that_matter() -> None:
    """The second caption is truer in half of the images, and in the others as bad in truth as in CIDEr."""
    random, count = np.random.default_rng(0), 60
    good = random.random(count) < 0.5
    zeros = np.zeros((count, 2))
    truth = np.stack([np.full(count, -2.0), np.where(good, -0.5, -4.0)], 1)
    # The second is likelier everywhere, so that fluency alone would choose it everywhere.
    fluency = np.stack([np.full(count, -2.0), np.full(count, -1.5)], 1)
    terms = PlainTerms(np.ones((count, 2), bool), zeros, truth, fluency, zeros, zeros)
    cider = np.stack([np.ones(count), np.where(good, 1.5, 0.2)], 1)
    unnamed = np.stack([np.ones(count), np.where(good, 0.0, 3.0)], 1)
    texts = [["a dog", f"a dog number {row}"] for row in range(count)]
    found = fit_truest(terms, Outcomes(zeros, cider, zeros, unnamed), texts, drawn=200)
    assert found.keys() == {PREFIX + name for name in WEIGHTS}
    places = chosen_plain(terms, {name: found[PREFIX + name] for name in WEIGHTS})
    assert places.tolist() == good.astype(int).tolist()


def test_different_words_are_counted_in_parts_of_400() -> None:
    assert different_words(["a cat"] * 400 + ["two dogs run"] * 400) == 2.5
    assert different_words(["a cat"] * 400 + ["two dogs run"] * 3) == 2
