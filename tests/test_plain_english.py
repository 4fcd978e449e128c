"""The words of the glossary's right-hand side appear nowhere in source, tests, docs and page."""

from pathlib import Path

import pytest

from plain_english import hits, hits_in_text

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = sorted(path.name for path in (ROOT / "src" / "tellapart").iterdir() if path.is_dir() and path.name[0] != "_")
TEXTS = ["README.md", "CONTRIBUTING.md", "docs", "benchmarks", "tests", "src/tellapart/__init__.py"]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_uses_plain_words(package: str) -> None:
    found = hits([ROOT / "src" / "tellapart" / package])
    assert not found, "\n" + "\n".join(map(str, found))


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_uses_plain_words(name: str) -> None:
    found = hits([ROOT / name])
    assert not found, "\n" + "\n".join(map(str, found))


@pytest.mark.parametrize(
    "line", ["the caption is mended", "words_said = 3", "one vector an image", "There is no such recipe", "a picture"]
)
def test_a_banned_word_is_noticed(line: str) -> None:
    assert list(hits_in_text(line, Path("text.md")))


@pytest.mark.parametrize(
    "line",
    ["recommend", "one of an image's regions", "pictures.jsonl", 'record["picture"]', "such a word", "the houses"],
)
def test_other_words_pass(line: str) -> None:
    assert not list(hits_in_text(line, Path("text.md")))
