"""Rules of library code: only `cli/` prints, names flags, and imports tyro; calls stay readable."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "tellapart"
MOST_POSITIONAL = 6
FLAG = re.compile(r"(?<![\w`$(-])--[a-z][a-z-]+")
Rule = Callable[[ast.AST], str | None]


def prints(node: ast.AST) -> str | None:
    """A call of print()."""
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    return "print()" if called else None


def names_a_flag(node: ast.AST) -> str | None:
    """An error whose text has a command-line flag in it."""
    texts = (
        [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)] if isinstance(node, ast.Raise) else []
    )
    found = [FLAG.search(text) for text in texts if isinstance(text, str)]
    return next((match.group() for match in found if match), None)


def imports_the_terminal(node: ast.AST) -> str | None:
    """An import of tyro."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    return next((name for name in names if name.split(".")[0] == "tyro"), None)


def many_positional(node: ast.AST) -> str | None:
    """A call with more positional arguments than a reader can tell apart; numbers of a table do not count."""
    if not isinstance(node, ast.Call):
        return None
    count = sum(not isinstance(argument, ast.Starred | ast.Constant) for argument in node.args)
    return f"{ast.unparse(node.func)}: {count} arguments" if count > MOST_POSITIONAL else None


def broken(rule: Rule, outside: tuple[str, ...] = ()) -> Iterator[str]:
    """file:line and what breaks the rule, in all packages but those `outside` it."""
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        if place.parts[0] in outside:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if (found := rule(node)) is not None:
                yield f"{place}:{getattr(node, 'lineno', 0)}: {found}"


@pytest.mark.parametrize("rule", [prints, names_a_flag, imports_the_terminal])
def test_only_the_command_line_talks_to_a_terminal(rule: Rule) -> None:
    assert not list(broken(rule, outside=("cli",)))


def test_calls_have_few_positional_arguments() -> None:
    assert not list(broken(many_positional))


def test_the_rules_notice() -> None:
    code = ast.parse("import tyro\nprint(1)\nf(a, b, c, d, e, g, h)\nraise ValueError('use --beam 3')")
    for rule in (prints, names_a_flag, imports_the_terminal, many_positional):
        assert any(rule(node) for node in ast.walk(code)), rule.__name__
