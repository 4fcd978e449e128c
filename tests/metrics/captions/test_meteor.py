"""METEOR: its formula by hand, its parts on a small table, the whole against the jar."""

import gzip
import importlib.util
import random
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from flickr_captions import flickr_test
from reference_tokens import need_java
from tellapart.core.errors import InputError
from tellapart.metrics.captions.meteor import tables as meteor_tables
from tellapart.metrics.captions.meteor.normalize import normalize
from tellapart.metrics.captions.meteor.score import Counts, alignments, meteor, meteor_java

TABLE = [("big", "very large"), ("near", "next to"), ("next to", "near"), ("near", "by"), ("a man", "someone")]


@pytest.fixture
def small_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of a few words, in the form the real one has."""
    (tmp_path / "data").mkdir()
    lines = [line for phrase, other in TABLE for line in ("0.5", phrase, other)]
    (tmp_path / "data" / "paraphrase-en.gz").write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    with zipfile.ZipFile(tmp_path / "meteor-1.5.jar", "w") as jar:
        jar.writestr("function/english.words", "a\nthe\nis\n")
        jar.writestr("nonbreaking/english.prefixes", "# titles\nMr\nNo #NUMERIC_ONLY#\n")
        jar.writestr("synonym/english.synsets", "child\n01 02\nkid\n02 03\ngoose\n07\nbird\n07\n")
        jar.writestr("synonym/english.exceptions", "goose\ngeese\n")
    monkeypatch.setattr(meteor_tables, "release", lambda: tmp_path)
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))
    meteor_tables.words.cache_clear()
    meteor_tables.paraphrases.cache_clear()
    yield
    meteor_tables.words.cache_clear()
    meteor_tables.paraphrases.cache_clear()


def one(candidate: str, reference: str) -> Counts:
    return alignments([candidate], [[reference]])[0]


def test_score_by_hand() -> None:
    """Candidate of 3 words (1 function), reference of 4 (1 function); 1 function and 1 content word match exactly, one
    content word by stem, in 2 chunks.

    Weighted length 0.75 * 2 + 0.25 = 1.75 and 0.75 * 3 + 0.25 = 2.5; matches 0.75 + 0.6 * 0.75 + 0.25 = 1.45.
    P = 1.45/1.75, R = 1.45/2.5, F = 1 / (0.15/P + 0.85/R); fragmentation 2/3, penalty 0.6 * (2/3) ** 0.2.
    """
    content = np.array([[[1.0, 1, 0, 0], [1, 1, 0, 0]]])
    function = np.array([[[1.0, 0, 0, 0], [1, 0, 0, 0]]])
    counts = Counts(np.array([[3.0, 4]]), np.array([[1.0, 1]]), content, function, np.array([2.0]))
    mean = 1 / (0.15 / (1.45 / 1.75) + 0.85 / (1.45 / 2.5))
    assert counts.scores()[0] == pytest.approx(mean * (1 - 0.6 * (2 / 3) ** 0.2))


def test_the_same_caption_scores_one_and_an_empty_one_nothing(small_tables: None) -> None:
    score = meteor(["a dog runs", "", "a dog", ""], [["a dog runs"], ["a dog"], [""], [""]])
    assert score.each.tolist() == [1, 0, 0, 0]
    assert meteor(["", ""], [["a dog"], ["a cat", "a dog runs"]]).corpus == 0


@pytest.mark.parametrize(
    ("candidate", "reference", "module"),
    [
        ("dog", "dog", 0),
        ("dogs", "dog", 1),
        ("kids", "child", 2),
        ("geese", "bird", 2),
        ("very large", "big", 3),
        ("big", "very large", 3),
        ("someone", "a man", 3),
    ],
)
def test_each_kind_of_match(small_tables: None, candidate: str, reference: str, module: int) -> None:
    counts = one(candidate, reference)
    matched = counts.content[0] + counts.function[0]  # [2,4]
    assert matched[:, module].tolist() == [len(candidate.split()), len(reference.split())]
    assert counts.chunks[0] == 1


def test_chunks_and_function_words(small_tables: None) -> None:
    """ "runs a dog" against "a dog runs": all matched, in the chunks "a dog" and "runs"; "a" is a function word."""
    counts = one("runs a dog", "a dog runs")
    assert counts.chunks[0] == 2
    assert counts.content[0, :, 0].tolist() == [2, 2] and counts.function[0, :, 0].tolist() == [1, 1]


def test_exact_matches_go_before_others(small_tables: None) -> None:
    counts = one("dogs near dog", "dog next to dogs")
    assert counts.content[0, :, 0].tolist() == [2, 2] and counts.content[0, :, 3].tolist() == [1, 2]


def test_the_best_reference_counts_and_the_corpus_sums_counts(small_tables: None) -> None:
    references = [["a bird", "a dog runs"], ["the cat"]]
    score = meteor(["a dog runs", "the dog"], references)
    best = [meteor(["a dog runs"], [["a dog runs"]]), meteor(["the dog"], [["the cat"]])]
    assert score.each.tolist() == [found.corpus for found in best]
    assert best[1].corpus < score.corpus < 1


def test_captions_too_long_for_the_batch_are_searched_one_by_one(small_tables: None) -> None:
    generator = random.Random(0)
    words = ["a", "dog", "dogs", "near", "next", "to", "big", "very", "large", "kid", "child"]
    long = [" ".join(generator.choice(words) for _ in range(70)) for _ in range(3)]
    short = [" ".join(generator.choice(words) for _ in range(8)) for _ in range(3)]
    score = meteor([*long, *short], [[long[1]], [short[0]], [long[2]], [short[1]], [long[0]], [short[2]]])
    assert score.each[2] == score.each[5] == 1
    assert score.each[3] == meteor([short[0]], [[short[1]]]).corpus


def test_a_table_read_once_is_found_again(small_tables: None, tmp_path: Path) -> None:
    first = meteor(["very large"], [["big"]]).corpus
    kept = list((tmp_path / "cache").iterdir())
    assert len(kept) == 1 and kept[0].name.startswith("meteor-paraphrases-")
    meteor_tables.paraphrases.cache_clear()
    assert meteor(["very large"], [["big"]]).corpus == first


def test_the_release_is_found_in_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the first folder of the package that has both files."""
    package = SimpleNamespace(submodule_search_locations=[str(tmp_path / "empty"), str(tmp_path / "whole")])
    folder = tmp_path / "whole" / "meteor"
    (folder / "data").mkdir(parents=True)
    (folder / "meteor-1.5.jar").touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: package)
    with pytest.raises(InputError, match="pycocoevalcap"):
        meteor_tables.release()
    (folder / "data" / "paraphrase-en.gz").touch()
    assert meteor_tables.release() == folder


def test_without_the_release_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor_tables.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install pycocoevalcap"):
        meteor_tables.release()


def test_without_java_a_sentence(small_tables: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="no `java` was found"):
        meteor_java(["a"], [["a"]])


@pytest.mark.parametrize(
    ("caption", "tokens"),
    [
        ("a man 's t-shirt", "a man ' s t shirt"),
        ("o'clock 1990's dogs'", "o 'clock 1990 's dogs '"),
        ("1,000 dogs, cats", "1,000 dogs , cats"),
        ("the U.S. Mr. Smith no. 5 end.", "the us mr. smith no . 5 end ."),
        ("wait... “now” -- go", 'wait ... " now " - go'),
        ("2\xa01/2 & (x)", "2 1 / 2 & ( x )"),
    ],
)
def test_normalisation(caption: str, tokens: str) -> None:
    assert normalize(caption, {"Mr": 1, "No": 2}) == tokens


@pytest.mark.slow
@pytest.mark.java
def test_equals_the_jar(shared_data: Path) -> None:
    """Flickr8k test; then words shuffled, repeated and put together at random, which is hard on the search."""
    need_java()
    candidates, references = flickr_test(shared_data)
    generator = random.Random(0)
    common = [
        "a",
        "a",
        "a",
        "the",
        "of",
        "in",
        "on",
        "man",
        "men",
        "dog",
        "dogs",
        "run",
        "running",
        "two",
        "is",
        "are",
        "with",
        "his",
        "near",
        "next",
        "to",
        "big",
        "large",
        "red",
        "it",
        "'s",
    ]
    for index in range(400):
        words = candidates[index].split()
        generator.shuffle(words)
        candidates.append(" ".join(words))
        references.append(references[index])
        candidates.append(" ".join(generator.choice(common) for _ in range(generator.randint(0, 14))))
        references.append(
            [" ".join(generator.choice(common) for _ in range(generator.randint(0, 14))) for _ in range(3)]
        )
    candidates.append(" ".join(candidates[:8]))
    references.append([" ".join(candidates[1:9]), " ".join(references[0])])
    ours, jar = meteor(candidates, references), meteor_java(candidates, references)
    np.testing.assert_allclose(ours.each, jar.each, atol=1e-9, rtol=0)
    assert ours.corpus == pytest.approx(jar.corpus, abs=1e-9)
