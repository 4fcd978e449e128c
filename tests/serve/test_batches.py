"""Dropped photos are described together, a full disk is a whole answer, and requests leave no memory behind."""

import asyncio
import gc
import io
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.exceptions import HTTPException

from tellapart.images.opening import UnreadableImage
from tellapart.search.photo_index import PhotoIndex
from tellapart.serve.access import AccessRules
from tellapart.serve.app import create_app
from tellapart.serve.batches import BatchQueue
from tellapart.serve.describe import Describer
from tellapart.serve.library import PhotoLibrary

OpenPhotos = Callable[[Path], PhotoIndex]
HERE = "http://127.0.0.1"


def test_what_waits_makes_up_the_next_batch() -> None:
    batches: list[list[int]] = []
    first = threading.Event()

    def work(items: Sequence[int]) -> list[int | Exception]:
        batches.append(list(items))
        first.wait(10)
        return [ValueError("odd") if item == 3 else 10 * item for item in items]

    async def visit() -> list[Any]:
        queue: BatchQueue[int, int] = BatchQueue(work, together=4, waiting=6)
        tasks = [asyncio.create_task(queue.run(0))]
        await asyncio.sleep(0.1)  # the first one is running alone
        tasks += [asyncio.create_task(queue.run(item)) for item in range(1, 8)]
        await asyncio.sleep(0.1)
        first.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    results = asyncio.run(visit())
    assert batches == [[0], [1, 2, 3, 4], [5, 6]]
    assert [one for one in results if isinstance(one, int)] == [0, 10, 20, 40, 50, 60]
    assert isinstance(results[3], ValueError)
    assert isinstance(results[7], HTTPException) and results[7].status_code == 503


def test_an_error_of_a_whole_batch_reaches_everybody_and_the_next_batch_runs() -> None:
    def work(items: Sequence[int]) -> list[int | Exception]:
        if 1 in items:
            raise RuntimeError("broken")
        return list(items)

    async def visit() -> list[Any]:
        queue: BatchQueue[int, int] = BatchQueue(work, together=2, waiting=9)
        return await asyncio.gather(*(queue.run(item) for item in range(4)), return_exceptions=True)

    results = asyncio.run(visit())
    assert [type(one) for one in results] == [RuntimeError, RuntimeError, int, int]


@pytest.fixture(scope="module")
def library(served_world: Path, open_photos: OpenPhotos) -> PhotoLibrary:
    return PhotoLibrary(open_photos(served_world / "index"))


def test_photos_described_together_are_described_as_each_alone(
    library: PhotoLibrary, served_world: Path, tmp_path: Path
) -> None:
    describer = Describer(library, neighbours=3)
    photos = sorted(path for path in (served_world / "photos").rglob("*") if path.suffix in (".png", ".jpg"))[:3]
    (broken := tmp_path / "broken.png").write_bytes(b"no image")
    together = describer.describe_all([photos[0], broken, *photos[1:]], [2, 2, 4, 1])
    assert isinstance(together[1], UnreadableImage)
    for photo, count, one in zip(photos, (2, 4, 1), [together[0], *together[2:]]):
        alone = describer.describe(photo, count)
        assert not isinstance(one, Exception) and len(one.similar) == min(count, len(alone.similar))
        assert one.similar == alone.similar and one.caption is not None and alone.caption is not None
        assert one.caption.text == alone.caption.text
        assert [word.box for word in one.caption.words] == [word.box for word in alone.caption.words]
        assert (one.distinctive_caption is None) == (alone.distinctive_caption is None)
        if one.distinctive_caption is not None and alone.distinctive_caption is not None:
            assert one.distinctive_caption.text == alone.distinctive_caption.text
            assert one.distinctive_caption.posterior == pytest.approx(alone.distinctive_caption.posterior, abs=1e-3)


class FullTable:
    """A table on a disk without space: reading works."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __getattr__(self, name: str) -> Any:
        if name == "update":
            raise RuntimeError("lance error: LanceError(IO): Generic LocalFileSystem error: No space left on device")
        return getattr(self.table, name)


def test_an_edit_on_a_full_disk_is_a_whole_answer_with_507(
    own_index: Path, open_photos: OpenPhotos, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = open_photos(own_index)
    rules = AccessRules(hosts=frozenset({"127.0.0.1"}))
    with TestClient(create_app(photos, rules), HERE, raise_server_exceptions=False) as client:
        photo = client.get("/api/photos").json()["photos"][0]
        whole = photos.store.table
        monkeypatch.setattr(photos.store, "table", FullTable(whole))
        answer = client.put(f"/api/photos/{photo['id']}/caption", json={"caption": "mine"})
        assert answer.status_code == 507 and "nothing was changed" in answer.json()["detail"]
        monkeypatch.setattr(photos.store, "table", whole)
        assert client.get(f"/api/photos/{photo['id']}").json()["caption"] == photo["caption"]


def test_an_upload_on_a_full_disk_is_507(
    served_world: Path, open_photos: OpenPhotos, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tellapart.serve.routes.save_upload", full)
    rules = AccessRules(hosts=frozenset({"127.0.0.1"}))
    with TestClient(create_app(open_photos(served_world / "index"), rules), HERE) as client:
        answer = client.post("/api/describe", files={"photo": io.BytesIO(b"x")})
        assert answer.status_code == 507 and answer.json()["detail"]


def test_head_is_get_without_a_body(served_world: Path, open_photos: OpenPhotos) -> None:
    rules = AccessRules(hosts=frozenset({"127.0.0.1"}))
    with TestClient(create_app(open_photos(served_world / "index"), rules), HERE) as client:
        photo = client.get("/api/photos").json()["photos"][0]["id"]
        for address in ("/", "/api/index", "/api/photos", f"/api/photos/{photo}", f"/api/photos/{photo}/image"):
            head, get = client.head(address), client.get(address)
            assert (head.status_code, head.content) == (200, b"") and head.headers.items() >= {
                ("content-type", get.headers["content-type"])
            }


def test_requests_leave_no_memory_behind(own_index: Path, open_photos: OpenPhotos) -> None:
    rules = AccessRules(hosts=frozenset({"127.0.0.1"}))
    with TestClient(create_app(open_photos(own_index), rules), HERE) as client:
        ids = [photo["id"] for photo in client.get("/api/photos?count=200").json()["photos"]]

        def visit(times: int) -> int:
            for number in range(times):
                photo = ids[number % len(ids)]
                client.get("/api/search", params={"query": f"ball {number % 7}"})
                client.get(f"/api/photos/{photo}")
                client.get(f"/api/photos/{photo}/similar")
                client.get(f"/api/photos/{photo}/image")
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        visit(2 * len(ids))
        tracemalloc.start()
        try:
            before, after = visit(20), visit(100)
        finally:
            tracemalloc.stop()
        assert after - before < 300_000, f"{after - before:,} bytes in 400 requests"
