"""Which tests judge a module: those that import it, those of the modules that import it, and those of its package."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("losses", "objectives", "models", "metrics")
FURTHER = ("evaluation", "inference", "hub")
"""Packages whose tests also judge: some models are only used there."""
MOST_FILES = 4


def modules(package: str) -> dict[str, Path]:
    """Dotted name -> file, for all modules of a package."""
    source = ROOT / "src"
    found = sorted((source / "tellapart" / package).rglob("*.py"))
    return {".".join(path.relative_to(source).with_suffix("").parts): path for path in found}


def judges_of(module: str) -> list[str]:
    """Test files, the most specific first: at most `MOST_FILES`, and the small parts of the package."""
    package = module.split(".")[1]
    inner = module.split(".")[-2] if module.count(".") > 2 else "nothing"
    parents = _importing(module, "src")
    parents = [*parents, *(above for parent in parents for above in _importing(parent, "src"))]
    everything = [path for path, _ in _texts("tests")]
    groups = (
        _importing(module, "tests"),
        [path for path in everything if path.startswith(f"tests/{inner}/")],
        [test for parent in parents for test in _importing(parent, "tests")],
        [path for path in everything if inner in _words(path)],
    )
    own = set(module.split(".")[1:-1])
    ordered = [
        path for group in groups for path in sorted(group, key=lambda path: (_distance(path, module, own), path))
    ]
    if not ordered:  # what a package hands on is imported from there
        ordered = _importing(module.rpartition(".")[0], "tests")
    small = f"tests/{package}/test_small_parts.py"
    return list(dict.fromkeys([*list(dict.fromkeys(ordered))[:MOST_FILES], *([small] if small in everything else [])]))


def _distance(path: str, module: str, own: set[str]) -> tuple[bool, int]:
    """Tests named like the module come first, then those of its package."""
    stem = module.rsplit(".", 1)[1]
    return f"test_{stem}" != Path(path).stem, -len(own & _words(path))


def _words(path: str) -> set[str]:
    """Folders and words of a file's name."""
    return {*Path(path).parts, *Path(path).stem.split("_")}


@cache
def _importing(module: str, where: str) -> list[str]:
    module = module.removesuffix(".__init__")
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
