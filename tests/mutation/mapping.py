"""Which tests judge a module: those that import it, and those of the modules that import it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("losses", "objectives", "models", "metrics")
FURTHER = ("evaluation", "inference", "hub")
"""Packages whose tests also judge: some models are only used there."""
MOST_FILES = 3


def modules(package: str) -> dict[str, Path]:
    """Dotted name -> file, for all modules of a package."""
    source = ROOT / "src"
    found = sorted((source / "tellapart" / package).rglob("*.py"))
    return {".".join(path.relative_to(source).with_suffix("").parts): path for path in found}


def judges_of(module: str) -> list[str]:
    """Test files, the most specific first, at most `MOST_FILES`."""
    direct = _importing(module, "tests")
    own = set(module.split(".")[1:-1])
    parents = _importing(module, "src")
    parents = [*parents, *(above for parent in parents for above in _importing(parent, "src"))]
    further = [test for parent in parents for test in _importing(parent, "tests")]
    ordered = sorted(direct, key=lambda path: (_distance(path, module, own), path))
    ordered += sorted(set(further) - set(direct), key=lambda path: (_distance(path, module, own), path))
    if not ordered:  # what a package hands on is imported from there
        ordered = sorted(
            _importing(module.rpartition(".")[0], "tests"), key=lambda path: (_distance(path, module, own), path)
        )
    return ordered[:MOST_FILES]


def _distance(path: str, module: str, own: set[str]) -> tuple[bool, int]:
    """Tests named like the module come first, then those of its package."""
    stem = module.rsplit(".", 1)[1]
    return f"test_{stem}" != Path(path).stem, -len(own & set(Path(path).parts))


@cache
def _importing(module: str, where: str) -> list[str]:
    parent, _, name = module.rpartition(".")
    whole, package = re.escape(module), re.escape(parent)
    pattern = re.compile(rf"from {whole} import|import {whole}\b|from {package} import [^\n]*\b{name}\b")
    return [path for path, text in _texts(where) if pattern.search(text)]


@cache
def _texts(where: str) -> list[tuple[str, str]]:
    """Test files by path (slow ones of commands and tables left out), or modules by dotted name."""
    if where == "src":
        return [
            (name, path.read_text()) for package in (*PACKAGES, *FURTHER) for name, path in modules(package).items()
        ]
    files = [
        path for package in (*PACKAGES, *FURTHER) for path in sorted((ROOT / "tests" / package).rglob("test_*.py"))
    ]
    return [(str(path.relative_to(ROOT)), path.read_text()) for path in files]
