"""Ray Data examines photos on two workers, and the index is the one this process alone would make."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embeds_colours import Colours, fill, paint
from index_rows import by_name
from local_s3 import local_s3
from tellapart.search.changes import Changes
from tellapart.search.ray_engine import ray_engine
from tellapart.search.store import open_or_make
from tellapart.search.table import About
from tellapart.search.update import update_index

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'tellapart[ray]'")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The address of an empty bucket, or nothing without a local S3 server."""
    try:
        with local_s3() as address:
            yield address
    except pytest.skip.Exception:
        yield ""


@pytest.fixture(scope="module")
def cluster(bucket: str) -> Iterator[None]:
    """Two workers in processes of this machine, which know the server of `bucket`."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": path}},
    )  # fmt: skip
    yield
    ray.shutdown()


class Opened(Colours):
    """Colours that write a line when they are opened, as a worker does once."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "log")
        with (folder / "opened").open("a") as file:
            file.write(f"{os.getpid()}\n")


def lines(file: Path) -> list[str]:
    return file.read_text().split()


def test_two_local_workers_make_the_same_index(tmp_path: Path, cluster: None) -> None:
    photos = tmp_path / "photos"
    for step in range(24):
        paint(photos / f"{step:02}.jpg", (10 * step, 240 - 10 * step, 3), "2019:07:21 18:04:33" if step % 2 else "")
    (photos / "broken.jpg").write_bytes(b"no image")
    alone, _ = fill(tmp_path / "alone", Colours(), photos)
    store = open_or_make(str(tmp_path / "index"), About("colours", "colours", "", 3))
    make = functools.partial(Opened, tmp_path)

    def update() -> Changes:
        return update_index(store, [photos], lambda contents: ray_engine(make, contents, 2, chunk=4))

    changes = update()
    assert changes.added == 24 and len(changes.faults) == 1
    opened = lines(tmp_path / "opened")
    assert len(opened) == len(set(opened)) == 2, "each worker opens its models once, for seven chunks"
    (photos / "00.jpg").rename(photos / "moved.jpg")
    before = len(lines(tmp_path / "log"))
    again = update()
    assert (again.unchanged, again.carried, again.deleted) == (23, 1, 1)
    assert len(lines(tmp_path / "log")) == before + 1  # the broken one is tried again
    (photos / "moved.jpg").rename(photos / "00.jpg")
    update()
    assert by_name(store) == by_name(alone)


@pytest.mark.parametrize("kind", ["file", "s3"])
def test_workers_read_addresses(tmp_path: Path, cluster: None, bucket: str, kind: str) -> None:
    import fsspec

    if kind == "s3" and not bucket:
        pytest.skip("needs a local S3 server: pip install 'tellapart[remote,s3-tests]'")
    address = f"{bucket}/photos" if kind == "s3" else (tmp_path / "remote").as_uri()
    folder = tmp_path / "photos"
    for step in range(8):
        data = paint(folder / f"{step}.png", (30 * step, 240 - 30 * step, 3)).read_bytes()
        with fsspec.open(f"{address}/{step}.png", "wb", auto_mkdir=True) as file:
            file.write(data)
    where = f"{bucket}/index" if kind == "s3" else str(tmp_path / "index")
    store = open_or_make(where, About("colours", "colours", "", 3))
    make = functools.partial(Opened, tmp_path)
    engine_for = functools.partial(ray_engine, make, workers=2, chunk=4)
    assert update_index(store, [address], engine_for).added == 8
    alone, _ = fill(tmp_path / "alone", Colours(), folder)

    def vectors(rows: dict[str, dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
        return {name: (row["vector"], row["content"], row["width"]) for name, row in rows.items()}

    assert vectors(by_name(store)) == vectors(by_name(alone))
    assert update_index(store, [address], engine_for).unchanged == 8
