"""Which features a recipe reads: by name, among candidates, or the only ones of its kind."""

from pathlib import Path

import pytest

from tellapart.core.errors import InputError
from tellapart.core.files import write_json
from tellapart.data.feature_choice import choose_features
from tellapart.data.pack import Pack
from tellapart.data.write_pack import write_pack
from tellapart.text.vocabulary import Vocabulary


@pytest.fixture()
def pack(tmp_path: Path) -> Pack:
    """A pack with features a-vector, a-grid, b-grid and the mirror images a-vector-flip."""
    pack = write_pack(tmp_path / "pack", "test", "", [], [], Vocabulary.from_words(["dog"]), {})
    kinds = {"a-vector": "vector", "a-vector-flip": "vector", "a-grid": "grid", "b-grid": "grid"}
    for name, kind in kinds.items():
        facts = {"kind": kind, "width": 2, "flipped": name.endswith("-flip")}
        write_json(pack.feature_folder(name) / "features.json", facts)
    return pack


def chosen(pack: Pack, kind: str, name: str | None = None, candidates: tuple[str, ...] = ()) -> str:
    store = choose_features(pack, kind, name, candidates)
    assert store is not None
    return store.name


def test_a_recipe_without_features(pack: Pack) -> None:
    assert choose_features(pack, "none", "a-grid") is None


def test_the_only_ones_of_a_kind_mirror_images_aside(pack: Pack) -> None:
    assert chosen(pack, "vector") == "a-vector"


def test_a_name_decides_whatever_the_kind(pack: Pack) -> None:
    assert chosen(pack, "vector", "b-grid") == "b-grid"
    assert chosen(pack, "vector", "a-vector-flip") == "a-vector-flip"


def test_candidates_of_the_kind_come_first(pack: Pack) -> None:
    assert chosen(pack, "grid", candidates=("a-vector", "b-grid")) == "b-grid"
    assert chosen(pack, "vector", candidates=("b-grid",)) == "a-vector"


def test_what_cannot_be_chosen(pack: Pack) -> None:
    with pytest.raises(InputError, match="several features of kind 'grid'; choose one with `features`: a-grid, b-grid"):
        choose_features(pack, "grid")
    with pytest.raises(InputError, match="no finished features 'c'; it has a-grid, "):
        choose_features(pack, "grid", "c")
    with pytest.raises(InputError, match="no finished features 'c'"):
        choose_features(pack, "grid", candidates=("c",))
    with pytest.raises(InputError, match=r"no features of kind 'regions' \(it has a-grid \(grid\), ") as raised:
        choose_features(pack, "regions")
    assert raised.value.step is not None and raised.value.step.options == {"kind": "regions"}
