"""Opening the models of the package imports no objective: inference needs none of them."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from tellapart.runs.bundled import bundled_run
bundled_run({name!r})
print(sorted(name for name in sys.modules if name.startswith(("tellapart.objectives", "tellapart.training"))))
"""


@pytest.mark.parametrize("name", ["captioner", "matcher"])
def test_opening_imports_no_objective(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(name=name)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
