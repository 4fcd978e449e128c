"""The mutation tool: which changes it makes, which it leaves, and that tests see a changed module."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mutation.__main__ import equivalent, report
from mutation.faults import FAULTS, Fault
from mutation.judge import KILLED, SURVIVED
from mutation.mapping import PACKAGES, ROOT, judges_of, modules
from mutation.mutants import mutants_of

CODE = '''"""Docs 1."""
from dataclasses import dataclass

WIDTH = 3

@dataclass
class Settings:
    margin: float = 0.2

def f(x: "int | None", flag: bool = True) -> "int | None":
    if x < 0:
        raise ValueError(f"not {x - 1}")
    if x.is_cuda and x > 7:
        return x - 100
    return -x + max(x, WIDTH) if flag and x else 2.5 + ~x
'''


def test_changes_of_a_small_file(tmp_path: Path) -> None:
    path = tmp_path / "small.py"
    path.write_text(CODE)
    kinds = [one.kind for one in mutants_of(path, "small")]
    assert sorted(kinds) == sorted(
        [
            "3 -> 4",
            "True -> False",
            "Lt -> LtE",
            "Lt -> Gt",
            "0 -> 1",
            "Add -> Sub",
            "Add -> Sub",
            "drop USub",
            "drop Invert",
            "max -> min",
            "And -> Or",
            "2.5 -> 5.0",
        ]
    )
    for mutant in mutants_of(path, "small"):
        compile(mutant.source(), "small.py", "exec")
    texts = {mutant.kind: mutant.source() for mutant in mutants_of(path, "small")}
    assert "if x <= 0" in texts["Lt -> LtE"] and "min(x, WIDTH)" in texts["max -> min"]
    assert "flag or x" in texts["And -> Or"] and "+x + max" in texts["drop USub"]
    assert "2.5 + ~~x" in texts["drop Invert"]


def test_names_stay_while_other_lines_change(tmp_path: Path) -> None:
    """And a line with two changes alike has two names: a + b + c is (a + b) + c."""
    path = tmp_path / "small.py"
    path.write_text("def f(a, b, c):\n    return a + b + c\n")
    first = [one.key for one in mutants_of(path, "small")]
    assert first == [f"small | return a + b + c | Add -> Sub | {number}" for number in (0, 1)]
    path.write_text("WIDTH = 3\n\n\n" + path.read_text())
    assert [one.key for one in mutants_of(path, "small")][1:] == first


def test_the_report_names_survivors_and_both_shares(tmp_path: Path) -> None:
    path = tmp_path / "small.py"
    path.write_text("def f(a, b, c, d):\n    return a + b + c + d > 0\n")
    found = mutants_of(path, "tellapart.losses.small")
    verdicts = [KILLED, SURVIVED, SURVIVED, KILLED, KILLED]
    lines = report(list(zip(found, verdicts)), {found[2].key: "not read"})
    assert len(found) == 6 and lines[0].endswith("NOT NOTICED") and lines[1].endswith("    not read")
    assert lines[-1].strip() == "all: killed 3 of 5 (60.0%), 1 equivalent with reasons; 75.0% of the others"


def test_equivalent_mutants_have_reasons() -> None:
    listed = equivalent()
    assert listed and all(key.startswith("tellapart.") and len(reason) > 10 for key, reason in listed.items())


def test_most_modules_with_mutants_have_tests() -> None:
    for package in PACKAGES:
        for name, path in modules(package).items():
            if mutants_of(path, name):
                assert all((Path(__file__).parents[1] / test).is_file() for test in judges_of(name))
    assert judges_of("tellapart.losses.hinge")[0] == "tests/losses/test_ranking_losses.py"


@pytest.mark.parametrize(("answer", "verdict"), [(41, KILLED), (42, SURVIVED)])
def test_a_changed_module_is_seen_by_tests(answer: int, verdict: str, tmp_path: Path) -> None:
    """In a separate process: a fork of this one would wait for threads that other tests have started."""
    test, script = tmp_path / "test_answer.py", tmp_path / "run.py"
    test.write_text("from tellapart.losses.answer import ANSWER\n\ndef test_it() -> None:\n    assert ANSWER == 42\n")
    script.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from mutation.judge import OneModule, judge\n"
        "folder = Path(sys.argv[1])\n"
        "changed = OneModule('tellapart.losses.answer', folder / 'answer.py', f'ANSWER = {sys.argv[2]}')\n"
        "print(judge(changed, [str(folder / 'test_answer.py')], 100))\n"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), str(answer)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.stdout.strip() == verdict, done.stderr


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.about)
def test_fixed_faults_can_be_brought_back(fault: Fault) -> None:
    """Their fix is still in the code, and the changed text is Python; `python -m mutation.faults` runs their tests."""
    compile(fault.changed().source, fault.module, "exec")
    file, _, name = fault.test.partition("::")
    assert f"def {name}" in (ROOT / file).read_text()
