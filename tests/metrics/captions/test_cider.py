"""CIDEr-D by hand, the plain form against a loop, and stored document frequencies."""

import contextlib
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.core.errors import InputError
from tellapart.metrics.captions.cider import cider_d, plain_cider
from tellapart.metrics.captions.document_frequency import DocumentFrequency


def test_by_hand() -> None:
    """Two images; "dog" and "cat" are in one each, so idf = ln 2 for them and 0 for "a", which is in both.

    Candidate "a a cat", reference "a cat". Words: only "cat" weighs, cosine 1. Pairs: "a a" (in no reference) and
    "a cat" weigh ln 2 each, the reference has one of them: cosine 1/sqrt 2. Triples: none in the reference. Two pairs
    against one: exp(-1/72). Ten times the mean over n = 1..4.
    """
    score = cider_d(["a dog", "a a cat"], [["a dog"], ["a cat"]])
    assert score.each[0] == pytest.approx(10 * (1 + 1) / 4)
    assert score.each[1] == pytest.approx(10 * (1 + 1 / math.sqrt(2)) / 4 * math.exp(-1 / 72))
    assert score.corpus == pytest.approx(score.each.mean())


def test_repeats_are_clipped() -> None:
    """Candidate "b b b", reference "b c", idf ln 2: words give min(3, 1) / (3 sqrt 2), unclipped 3 / (3 sqrt 2)."""
    candidates, references = ["b b b", "x"], [["b c"], ["x"]]
    assert cider_d(candidates, references).each[0] == pytest.approx(10 / 4 * 1 / (3 * math.sqrt(2)) * math.exp(-1 / 72))
    assert plain_cider(candidates, references).each[0] == pytest.approx(10 / 4 / math.sqrt(2))


def test_one_image_alone_says_nothing() -> None:
    assert cider_d(["a dog"], [["a dog"]]).corpus == 0


def naive_plain(candidates: list[str], references: list[list[str]]) -> list[float]:
    def grams(caption: str, n: int) -> Counter[tuple[str, ...]]:
        words = caption.split()
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    found = []
    for candidate, group in zip(candidates, references):
        total = 0.0
        for n in range(1, 5):
            count = Counter(gram for refs in references for gram in set().union(*(grams(r, n) for r in refs)))

            def vector(
                caption: str, n: int = n, count: Counter[tuple[str, ...]] = count
            ) -> dict[tuple[str, ...], float]:
                return {
                    gram: times * (math.log(len(references)) - math.log(max(1, count[gram])))
                    for gram, times in grams(caption, n).items()
                }

            one = vector(candidate)
            for reference in group:
                two = vector(reference)
                size = math.hypot(*one.values()) * math.hypot(*two.values())
                total += sum(one[gram] * two.get(gram, 0) for gram in one) / size if size else 0
        found.append(10 * total / 4 / len(group))
    return found


words = st.lists(st.sampled_from("abcd"), max_size=6).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_plain_form_is_the_loop(drawn: list[tuple[str, list[str]]]) -> None:
    candidates, references = [candidate for candidate, _ in drawn], [group for _, group in drawn]
    assert plain_cider(candidates, references).each.tolist() == pytest.approx(naive_plain(candidates, references))


def test_a_stored_table_gives_the_same_values(tmp_path: Path) -> None:
    references = [["a dog runs", "the dog"], ["a cat sits on a mat"], ["two dogs run"]]
    DocumentFrequency.from_references(references).save(tmp_path / "table.npz")
    table = DocumentFrequency.load(tmp_path / "table.npz")
    candidates = ["a dog sits", "a cat on a mat", "unheard of dogs run"]
    assert cider_d(candidates, references, table).each.tolist() == cider_d(candidates, references).each.tolist()


def test_a_table_of_other_captions_changes_the_weights() -> None:
    table = DocumentFrequency.from_references([["a dog"], ["a cat"], ["a fish"], ["a bird"]])
    assert cider_d(["a dog"], [["a dog"]], table).corpus == pytest.approx(10 * (1 + 1) / 4)


def test_a_file_that_is_no_table_is_rejected(tmp_path: Path) -> None:
    for content in (b"no table", b"", b"PK\x03\x04cut off"):
        (tmp_path / "odd.npz").write_bytes(content)
        with pytest.raises(InputError, match="not a stored document frequency table"):
            DocumentFrequency.load(tmp_path / "odd.npz")
    DocumentFrequency.from_references([["a dog runs on the grass"], ["a cat"]]).save(tmp_path / "whole.npz")
    whole = (tmp_path / "whole.npz").read_bytes()
    for place in range(len(whole)):  # wherever it is damaged, it is rejected, or what was damaged does not matter
        (tmp_path / "odd.npz").write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with contextlib.suppress(InputError):
            DocumentFrequency.load(tmp_path / "odd.npz")
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(InputError, match="not a stored document frequency table"):
        DocumentFrequency.load(tmp_path / "array.npy")


def test_a_table_too_small_for_cider_is_rejected(tmp_path: Path) -> None:
    DocumentFrequency.from_references([["a dog"], ["a cat"]], order=2).save(tmp_path / "pairs.npz")
    with pytest.raises(InputError, match="up to 2 words in 2 images; CIDEr needs 4"):
        DocumentFrequency.load(tmp_path / "pairs.npz")
