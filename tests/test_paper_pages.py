"""Every `file.py: Name` in README and docs exists."""

import re
from pathlib import Path

import pytest

from tellapart.cli.extract import ExtractOptions
from tellapart.papers.recipes import find_recipe

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "papers").glob("*.md"))
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULE = re.compile(r"`(tellapart(?:\.\w+)+)|from (tellapart(?:\.\w+)+) import")
REFERENCE = re.compile(r"`([\w/]+\.py)(?:: ([^`]+))?`")
NAME = re.compile(r"^[\w.]+")
EXTRACTED = re.compile(r"^    tellapart extract ([^#\n]*)", re.MULTILINE)
TRAINED = re.compile(r"^    tellapart train (\S+)", re.MULTILINE)


def references(page: Path) -> list[tuple[str, str]]:
    """(file, name) pairs; a file alone comes with an empty name."""
    found = []
    for path, names in REFERENCE.findall(page.read_text(encoding="utf-8")):
        if any(part.isupper() for part in re.split(r"\W", path)):  # papers/NAME/recipes.py
            continue
        parts = [NAME.match(part.strip()) for part in names.split(",")] if names else []
        found.append((path, ""))
        found += [(path, part.group().rpartition(".")[2]) for part in parts if part]
    return found


def source(path: str) -> Path | None:
    places = (ROOT / "src" / "tellapart" / path, ROOT / path)
    return next((place for place in places if place.is_file()), None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_paper_page_names_files(page: Path) -> None:
    assert references(page), "the page of a paper says where its equations are"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_references_exist(page: Path) -> None:
    for path, name in references(page):
        file = source(path)
        assert file is not None, f"{page.name} names {path}, which does not exist"
        defined = re.compile(rf"\b(def|class) {name}\b|^\s*{name}\b[^=\n]*=|^\s*{name}:", re.MULTILINE)
        assert not name or defined.search(file.read_text(encoding="utf-8")), f"{page.name}: no {name} in {path}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_features_that_a_page_extracts_are_those_it_trains_on(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    kinds = [re.search(r"--kind (\S+)", command) for command in EXTRACTED.findall(text)]
    made = {kind for found in kinds for kind in (found.group(1) if found else ExtractOptions.kind).split(",")}
    for recipe in TRAINED.findall(text) if made else ():
        assert find_recipe(recipe).features in made, f"{page.name} trains {recipe} on features it has not made"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_modules_exist(page: Path) -> None:
    for found in MODULE.finditer(page.read_text(encoding="utf-8")):
        parts = (found.group(1) or found.group(2)).split(".")[1:]
        inner = [ROOT.joinpath("src", "tellapart", *parts[:size]) for size in range(len(parts), 0, -1)]
        module = next((place for place in inner if place.is_dir() or place.with_suffix(".py").is_file()), None)
        public = parts[0] in (ROOT / "src" / "tellapart" / "__init__.py").read_text(encoding="utf-8")
        assert module is not None or public, f"{page.name} names {found.group()}, which does not exist"
