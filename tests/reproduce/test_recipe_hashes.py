"""Results in measured/ are found by the hash of their recipe, which a renamed field, value or class must not change."""

import json
from pathlib import Path

from tellapart.papers.recipes import RECIPES
from tellapart.papers.tables import TABLES
from tellapart.reproduce.cache import recipe_hash
from tellapart.reproduce.row_recipes import row_hash
from tellapart.runs.registry import recipe_from_plain, to_plain

STORED = json.loads((Path(__file__).parent / "recipe_hashes.json").read_text(encoding="utf-8"))


def test_recipes_keep_their_hashes() -> None:
    assert {name: recipe_hash(recipe) for name, recipe in RECIPES.items()} == STORED["recipes"]


def test_rows_keep_their_hashes() -> None:
    assert {table.name: [row_hash(row) for row in table.rows] for table in TABLES.values()} == STORED["rows"]


def test_stored_recipes_are_read_under_first_and_current_names() -> None:
    """A run folder written before a field was renamed holds its first name."""
    for recipe in RECIPES.values():
        for first_names in (False, True):
            plain = json.loads(json.dumps(to_plain(recipe, first_names)))
            assert recipe_from_plain(plain) == recipe
