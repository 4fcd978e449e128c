"""Names of runs, and what opening one imports: no objective, since inference needs none of them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tellapart.runs.bundled import run_folder

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


def test_a_run_that_was_exported_for_the_hub_is_named_like_models_of_the_hub(tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text("{}")
    assert run_folder(f"hf:{tmp_path}") == tmp_path
    assert run_folder(f"hf:{tmp_path / 'clip'}") == Path(f"hf:{tmp_path / 'clip'}")  # a model of transformers
