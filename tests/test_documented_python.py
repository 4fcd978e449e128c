"""The Python examples of README and the guide run as they are printed, in a folder with a few images."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from documented_commands import ROOT

PAGES = ["README.md", "docs/index.md", "docs/api.md", "docs/search.md"]
COLOURS = {
    "cat.jpg": "orange",
    "dog.jpg": "brown",
    "holiday.jpg": "blue",
    "album/1.jpg": "red",
    "photos/2.jpg": "green",
}


def python_of(page: Path) -> str:
    """The Python blocks of a page, one after the other."""
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL))


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of_a_page_run(name: str, tmp_path: Path) -> None:
    for file, colour in COLOURS.items():
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (96, 64), colour).save(path)
    # The index exists before the page that opens it does.
    script = "import tellapart as ta\nta.open_index('photos.index').update('photos/')\n" + python_of(ROOT / name)
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=one_thread, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
