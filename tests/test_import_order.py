"""Imports point one way: a package imports those above it in ORDER, never those below (lazy imports included)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "tellapart"
ORDER = (
    "core",
    "images",
    "text",
    "data",
    "features",
    "models",
    "metrics",
    "losses",
    "objectives",
    "evaluation",
    "runs",
    "training",
    "reproduce",
    "papers",
    "exported",
    "inference",
    "alt_text",
    "search",
    "report",
    "serve",
    "cli",
)
FILES = sorted(SOURCE.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Every `tellapart` module that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write absolute imports"
            if node.module == "tellapart":
                yield from (f"tellapart.{alias.name}" for alias in node.names)
            elif node.module and node.module.startswith("tellapart."):
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "tellapart")


def wrong_edges(package: str, modules: Iterator[str]) -> list[str]:
    """The imported modules that stand below `package`."""
    below = ORDER[ORDER.index(package) + 1 :]
    return [module for module in modules if module.split(".")[1:2] and module.split(".")[1] in below]


def test_the_top_level_holds_the_entry_points_only() -> None:
    assert {path.name for path in SOURCE.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_every_package_has_its_place() -> None:
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert packages == set(ORDER)


@pytest.mark.parametrize("package", ORDER)
def test_imports_point_one_way(package: str) -> None:
    wrong = {
        str(path.relative_to(SOURCE)): found
        for path in FILES
        if path.relative_to(SOURCE).parts[0] == package and (found := wrong_edges(package, imported(path)))
    }
    assert not wrong


def test_a_wrong_edge_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "lazy.py"
    file.write_text("def f():\n    from tellapart.search.store import open_store\n")
    assert wrong_edges("data", imported(file)) == ["tellapart.search.store"]
