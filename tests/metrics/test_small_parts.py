"""Cases of metrics that other tests do not meet: empty and very long captions, folds, mixed lengths, single raters."""

import numpy as np
import pytest
import torch

from frozen_values import changeable
from tellapart.core.errors import InputError
from tellapart.metrics.captions.bert_score import matched
from tellapart.metrics.captions.compare import compare
from tellapart.metrics.captions.evaluate import evaluate
from tellapart.metrics.captions.meteor.score import Counts
from tellapart.metrics.captions.meteor.stemmer import stem
from tellapart.metrics.captions.ptb.tokenizer import tokenize
from tellapart.metrics.grounding.boxes import pixel_size
from tellapart.metrics.retrieval import recall
from tellapart.metrics.retrieval.common_subsequences import References, by_table, common_lengths
from tellapart.metrics.retrieval.ndcg import DEPTH
from tellapart.metrics.retrieval.rouge_relevance import numbered
from tellapart.metrics.retrieval.self_retrieval import self_retrieval_ranks
from tellapart.text.token_vectors import TokenVectors


def test_values_never_change() -> None:
    """But for the paths of METEOR's search, which grow word by word."""
    assert changeable("metrics") == ["tellapart.metrics.captions.meteor.search_one.Path"]


def test_no_captions_are_no_words() -> None:
    words, lengths = numbered([])
    assert words.shape == (0, 1) and lengths.shape == (0,)


def test_the_words_of_a_very_long_caption_are_counted() -> None:
    """256 times one word: a count of 256 does not fit into a byte."""
    words = " ".join(["dog"] * 256)
    assert evaluate([words], [[words]], metrics=("BLEU-1",))["BLEU-1"].corpus == pytest.approx(1.0)


def test_each_bleu_has_its_own_order() -> None:
    """3 of 4 words, 1 of 3 pairs and no triple are right."""
    found = evaluate(["a dog runs here"], [["a dog here runs"]], metrics=("BLEU-1", "BLEU-2", "BLEU-3"))
    values = [found[f"BLEU-{order}"].corpus for order in (1, 2, 3)]
    assert values[0] == pytest.approx(1.0) and values[1] == pytest.approx((1 / 3) ** 0.5, rel=1e-3)
    assert values[2] < 1e-3


def test_meteor_adds_the_counts_of_a_corpus_up() -> None:
    rows = np.arange(2 * 21, dtype=float).reshape(2, 21)
    total = Counts.from_columns(rows).total().columns()
    assert total.shape == (1, 21) and total[0, :20].tolist() == rows.sum(0)[:20].tolist()


def test_a_short_word_keeps_its_y() -> None:
    assert (stem("by"), stem("cry"), stem("say")) == ("by", "cri", "say")


def test_empty_token_vectors_score_zero() -> None:
    none = TokenVectors(np.zeros(0, np.int64), np.zeros((0, 2)), np.zeros(0, bool))
    one = TokenVectors(np.arange(1), np.array([[1.0, 0.0]]), np.zeros(1, bool))
    assert matched(none, one) == matched(one, none) == (0.0, 0.0, 0.0)


def test_an_empty_caption_is_rejected_unless_allowed() -> None:
    with pytest.raises(InputError):
        compare({"1": ["a dog"]}, {"one": {"1": ""}}, metrics=["ROUGE-L"])


def test_images_of_unknown_size_are_square() -> None:
    sizes = pixel_size(np.array([208, 0]), np.array([104, 0]), 500.0)
    assert sizes.tolist() == [[500.0, 250.0, 500.0, 250.0], [500.0] * 4]


def test_folds_count_images_not_captions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five images with two captions each, folds of two: two folds, and the last image is in none."""
    monkeypatch.setattr(recall, "FOLD_SIZE", 2)
    monkeypatch.setattr(recall, "FOLD_IMAGES", 5)
    torch.manual_seed(0)
    owner = torch.arange(5).repeat_interleave(2)
    found = recall.thousand_fold_ranks(torch.randn(5, 10), owner)
    assert found is not None and found.owner.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert len(found.image_to_text) == 4


@pytest.mark.parametrize("owner", [[-1, 1], [0, 2], [0]])
def test_captions_of_images_that_are_not_there_are_rejected(owner: list[int]) -> None:
    with pytest.raises(InputError, match="one of the 2 images"):
        self_retrieval_ranks(torch.zeros(2, 2), torch.tensor(owner))


def test_an_entity_is_one_token() -> None:
    """With its semicolon."""
    assert tokenize(["a &ht; dog", "&#39; x"]) == ["a &ht; dog", "&#39; x"]


def test_short_and_long_captions_mix() -> None:
    """Captions of more than 64 words take the table, the others of the same call the bits."""
    texts = [" ".join(f"w{(i * step) % 40}" for i in range(length)) for length, step in ((5, 1), (80, 3), (30, 7))]
    words, lengths = numbered(texts)
    references = References(words, lengths)
    assert torch.equal(common_lengths(words, lengths, references), by_table(words, words))


def test_ndcg_has_a_depth_of_25() -> None:
    assert DEPTH == 25
