"""A small pack, and tables whose recipes are shrunk to train in a moment."""

from pathlib import Path

import pytest

from small_recipes import small_pack, small_recipe
from tellapart.reproduce import jobs


@pytest.fixture(scope="package")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_pack(tmp_path_factory.mktemp("packs") / "small").folder


@pytest.fixture(scope="module")
def small_models() -> object:
    """Tables look recipes up by name: let them find the shrunk ones, in test files that ask for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "find_recipe", small_recipe)
        yield
