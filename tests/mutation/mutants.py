"""All small changes of a Python file: one operator, comparison, number, condition or reduction at a time."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.FloorDiv: ast.Mod,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
NAMES = {"max": "min", "min": "max", "sum": "mean", "mean": "sum", "amax": "amin", "amin": "amax", "any": "all"}
NAMES |= {"all": "any", "argmax": "argmin", "argmin": "argmax", "sigmoid": "tanh", "tanh": "sigmoid", "relu": "tanh"}
"""Functions and methods that are called in place of another."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    module: str
    path: Path
    line: int
    kind: str
    place: int
    """Number of the changed node in the order of `ast.walk`."""
    number: int
    """Which of the node's changes."""
    key: str
    """Module, text of the line, change and its number among those alike: stays while other lines change."""

    def source(self) -> str:
        """The text of the changed file."""
        tree = ast.parse(self.path.read_text())
        target = next(node for index, node in enumerate(ast.walk(tree)) if index == self.place)
        list(_changes(target))[self.number][1]()
        return ast.unparse(ast.fix_missing_locations(tree))


def mutants_of(path: Path, module: str) -> list[Mutant]:
    """Every mutant of a file, in the order of its lines."""
    text = path.read_text()
    tree, lines = ast.parse(text), text.splitlines()
    skipped = {id(inner) for node in ast.walk(tree) for part in _left(node) for inner in ast.walk(part)}
    found = [
        (node.lineno, node.col_offset, kind, place, number)  # type: ignore[attr-defined]
        for place, node in enumerate(ast.walk(tree))
        if id(node) not in skipped
        for number, (kind, _) in enumerate(_changes(node))
    ]
    alike: Counter[str] = Counter()
    mutants = []
    for line, _, kind, place, number in sorted(found, key=lambda one: one[:3]):
        name = f"{module} | {lines[line - 1].strip()} | {kind}"
        mutants.append(Mutant(module, path, line, kind, place, number, f"{name} | {alike[name]}"))
        alike[name] += 1
    return mutants


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[], None]]]:
    """Pairs of a description and a function that changes the node in place."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        other = OPERATORS[type(node.op)]
        yield f"{type(node.op).__name__} -> {other.__name__}", lambda: setattr(node, "op", other())
    elif isinstance(node, ast.Compare):
        for index, sign in enumerate(node.ops):
            for turned in COMPARISONS.get(type(sign), ()):
                yield (
                    f"{type(sign).__name__} -> {turned.__name__}",
                    lambda index=index, turned=turned: node.ops.__setitem__(index, turned()),
                )
    elif isinstance(node, ast.BoolOp):
        swapped = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} -> {swapped.__name__}", lambda: setattr(node, "op", swapped())
    elif isinstance(node, ast.UnaryOp):
        yield f"drop {type(node.op).__name__}", lambda: _drop_sign(node)
    elif isinstance(node, ast.Constant):
        yield from _constants(node)
    elif isinstance(node, ast.If | ast.IfExp) and isinstance(node.test, ast.Name | ast.Attribute | ast.Call):
        yield "negate condition", lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Call):
        yield from _calls(node)


def _drop_sign(node: ast.UnaryOp) -> None:
    """-x becomes +x; for ~ and not, twice the operator is none (torch has no +x of booleans)."""
    if isinstance(node.op, ast.Not | ast.Invert):
        node.operand = ast.UnaryOp(type(node.op)(), node.operand)
    else:
        node.op = ast.UAdd()


def _constants(node: ast.Constant) -> Iterator[tuple[str, Callable[[], None]]]:
    if isinstance(node.value, bool):
        yield f"{node.value} -> {not node.value}", lambda: setattr(node, "value", not node.value)
    elif isinstance(node.value, int):
        yield f"{node.value} -> {node.value + 1}", lambda: setattr(node, "value", int(node.value) + 1)  # type: ignore[arg-type]
    elif isinstance(node.value, float):
        larger = 2 * node.value if node.value else 1.0
        yield f"{node.value} -> {larger}", lambda: setattr(node, "value", larger)


def _calls(node: ast.Call) -> Iterator[tuple[str, Callable[[], None]]]:
    if isinstance(node.func, ast.Attribute) and node.func.attr in NAMES:
        function = node.func
        yield f"{function.attr} -> {NAMES[function.attr]}", lambda: setattr(function, "attr", NAMES[function.attr])
    elif isinstance(node.func, ast.Name) and node.func.id in ("max", "min", "any", "all"):
        named = node.func
        yield f"{named.id} -> {NAMES[named.id]}", lambda: setattr(named, "id", NAMES[named.id])


def _left(node: ast.AST) -> Iterator[ast.AST]:
    """Parts that are not changed: annotations, messages of errors, defaults of settings, and branches for GPUs."""
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield node.returns
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        yield node
    if isinstance(node, ast.ClassDef):  # a setting's default is a choice, kept by the hashes of recipes
        yield from (statement for statement in node.body if isinstance(statement, ast.AnnAssign))
    if isinstance(node, ast.If | ast.IfExp) and "cuda" in ast.unparse(node.test):
        yield node.test
        yield from node.body if isinstance(node.body, list) else [node.body]
