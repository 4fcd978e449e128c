"""A small pack, and tables whose recipes are shrunk to train in a moment."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from small_recipes import small_pack, small_table
from tellapart.papers import tables


@pytest.fixture(scope="package")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_pack(tmp_path_factory.mktemp("packs") / "small").folder


@pytest.fixture(scope="module")
def small_models() -> Iterator[None]:
    """Commands find tables by name: the rows of those they find have shrunk recipes, in test files that ask for it."""
    with pytest.MonkeyPatch.context() as patch:
        for name, table in tables.TABLES.items():
            patch.setitem(tables.TABLES, name, small_table(table))
        yield
