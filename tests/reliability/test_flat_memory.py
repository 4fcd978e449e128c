"""Edits and searches leave no memory behind, in a process of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

from embeds_colours import Colours, fill, paint

EDITS = 150
MOST = 6 << 10
"""Kilobytes that 150 edits may add. LanceDB, which indexes were in, added 130 per edit."""
PROGRAM = """
import sys
from pathlib import Path
from tellapart.search.query import Searcher
from tellapart.search.store import open_store
store = open_store(sys.argv[1])
searcher = Searcher(store)
held = lambda: int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0])
def visit():
    for number in range(int(sys.argv[3])):
        store.edit(sys.argv[2], f"edit {number % 10}")
        assert len(searcher.nearest(query, 3)) == 3 and store.row(sys.argv[2])["edited"]
    return held()
import numpy
query = numpy.asarray([1.0, 0.0, 0.0], numpy.float32)
visit()
before = held()
print(visit() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_edits_add_no_memory(tmp_path: Path) -> None:
    for number in range(6):
        paint(tmp_path / "photos" / f"{number}.png", (40 * number, 9, 0))
    fill(tmp_path / "index", Colours(), tmp_path / "photos")[0].close()
    call = [sys.executable, "-c", PROGRAM, str(tmp_path / "index"), str(tmp_path / "photos" / "1.png"), str(EDITS)]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < MOST
