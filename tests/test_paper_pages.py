"""Every `file.py: Name` on a paper's page is there to be found."""

import re
from pathlib import Path

import pytest

from tellapart.features.extraction import ExtractSettings
from tellapart.papers.recipes import find_recipe

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "papers").glob("*.md"))
REFERENCE = re.compile(r"`([\w/]+\.py)(?:: ([^`]+))?`")
NAME = re.compile(r"^[\w.]+")
EXTRACTED = re.compile(r"^    tellapart extract ([^#\n]*)", re.MULTILINE)
TRAINED = re.compile(r"^    tellapart train (\S+)", re.MULTILINE)


def references(page: Path) -> list[tuple[str, str]]:
    """(file, name) pairs; a file alone comes with an empty name."""
    found = []
    for path, names in REFERENCE.findall(page.read_text(encoding="utf-8")):
        parts = [NAME.match(part.strip()) for part in names.split(",")] if names else []
        found.append((path, ""))
        found += [(path, part.group().rpartition(".")[2]) for part in parts if part]
    return found


def source(path: str) -> Path | None:
    places = (ROOT / "src" / "tellapart" / path, ROOT / path)
    return next((place for place in places if place.is_file()), None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_references_exist(page: Path) -> None:
    pairs = references(page)
    assert pairs, "a page of a paper says where its equations live"
    for path, name in pairs:
        file = source(path)
        assert file is not None, f"{page.name} names {path}, which does not exist"
        defined = re.compile(rf"\b(def|class) {name}\b|^\s*{name}\b[^=\n]*=|^\s*{name}:", re.MULTILINE)
        assert not name or defined.search(file.read_text(encoding="utf-8")), f"{page.name}: no {name} in {path}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_features_that_a_page_extracts_are_those_it_trains_on(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    kinds = [re.search(r"--kind (\S+)", command) for command in EXTRACTED.findall(text)]
    made = {kind for found in kinds for kind in (found.group(1) if found else ExtractSettings.kind).split(",")}
    for recipe in TRAINED.findall(text) if made else ():
        assert find_recipe(recipe).features in made, f"{page.name} trains {recipe} on features it has not made"
