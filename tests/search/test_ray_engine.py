"""Ray Data examines photos on two workers, and the index is the one this process alone would make."""

import functools
import os
import sys
from pathlib import Path

import pytest

from embeds_colours import Colours, fill, paint
from index_rows import by_name
from tellapart.search.changes import Changes
from tellapart.search.ray_engine import ray_engine
from tellapart.search.store import open_or_make
from tellapart.search.table import About
from tellapart.search.update import update_index

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'tellapart[ray]'")


@pytest.mark.slow
def test_two_local_workers_make_the_same_index(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    for step in range(24):
        paint(photos / f"{step:02}.jpg", (10 * step, 240 - 10 * step, 3), "2019:07:21 18:04:33" if step % 2 else "")
    (photos / "broken.jpg").write_bytes(b"no image")
    alone, _ = fill(tmp_path / "alone", Colours(), photos)

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}},
    )
    try:
        store = open_or_make(str(tmp_path / "index"), About("colours", "colours", "", 3))
        make = functools.partial(Colours, tmp_path / "log")

        def update() -> Changes:
            return update_index(store, [photos], lambda contents: ray_engine(make, contents, 2, chunk=4))

        changes = update()
        assert changes.added == 24 and len(changes.faults) == 1
        (photos / "00.jpg").rename(photos / "moved.jpg")
        before = len((tmp_path / "log").read_text().split())
        again = update()
        assert (again.unchanged, again.carried, again.deleted) == (23, 1, 1)
        assert len((tmp_path / "log").read_text().split()) == before + 1  # the broken one is tried again
        (photos / "moved.jpg").rename(photos / "00.jpg")
        update()
    finally:
        ray.shutdown()

    assert by_name(store) == by_name(alone)
