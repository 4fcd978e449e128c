"""Dropped photos are described together, a full disk is a whole answer, and requests leave no memory behind."""

import asyncio
import contextlib
import gc
import io
import sqlite3
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest
from fastapi.testclient import TestClient
from starlette.exceptions import HTTPException

from tellapart.cli.index import IndexOptions, index
from tellapart.images.opening import UnreadableImage
from tellapart.inference.light.exported_run import is_exported
from tellapart.search.light_embedder import LightEmbedder
from tellapart.search.photo_index import PhotoIndex, open_index
from tellapart.search.sqlite import writing
from tellapart.serve.access import AccessRules
from tellapart.serve.app import create_app
from tellapart.serve.batches import BatchQueue
from tellapart.serve.describe import Caption, Describer
from tellapart.serve.library import PhotoLibrary

OpenPhotos = Callable[[Path], PhotoIndex]
HERE = "http://127.0.0.1"


def test_what_waits_makes_up_the_next_batch() -> None:
    batches: list[list[int]] = []
    first = threading.Event()

    def work(items: Sequence[int]) -> list[int | Exception]:
        batches.append(list(items))
        first.wait(60)
        return [ValueError("odd") if item == 3 else 10 * item for item in items]

    async def visit() -> list[Any]:
        queue: BatchQueue[int, int] = BatchQueue(work, together=4, waiting=6)
        tasks = [asyncio.create_task(queue.run(0))]
        while not batches:  # until the first one is running alone
            await asyncio.sleep(0.01)
        tasks += [asyncio.create_task(queue.run(item)) for item in range(1, 8)]
        await asyncio.sleep(0)  # all are in the queue after one turn of the loop
        first.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    results = asyncio.run(visit())
    assert batches == [[0], [1, 2, 3, 4], [5, 6]]
    assert [one for one in results if isinstance(one, int)] == [0, 10, 20, 40, 50, 60]
    assert isinstance(results[3], ValueError)
    assert isinstance(results[7], HTTPException) and results[7].status_code == 503


def test_an_error_of_a_batch_concerns_the_item_that_causes_it_and_the_next_batch_runs() -> None:
    def work(items: Sequence[int]) -> list[int | Exception]:
        if 1 in items:
            raise RuntimeError("broken")
        return list(items)

    async def visit() -> list[Any]:
        queue: BatchQueue[int, int] = BatchQueue(work, together=2, waiting=9)
        return await asyncio.gather(*(queue.run(item) for item in range(4)), return_exceptions=True)

    results = asyncio.run(visit())
    assert [type(one) for one in results] == [int, RuntimeError, int, int]


@pytest.fixture(scope="module")
def library(served_world: Path, open_photos: OpenPhotos) -> PhotoLibrary:
    return PhotoLibrary(open_photos(served_world / "index"))


@pytest.fixture(scope="module")
def light_library(served_world: Path, tmp_path_factory: pytest.TempPathFactory) -> PhotoLibrary:
    """The same photos, indexed by the bundled models without torch."""
    if not is_exported("bundled", "captioner"):
        pytest.skip("no runs come with this installation")
    folder = tmp_path_factory.mktemp("light") / "index"
    index(IndexOptions((served_world / "photos",), str(folder), progress=False))
    return PhotoLibrary(open_index(folder))


@pytest.fixture(params=["torch", "light"])
def either(request: pytest.FixtureRequest) -> PhotoLibrary:
    """A library whose models run with torch, and one whose models run without."""
    chosen: PhotoLibrary = request.getfixturevalue("library" if request.param == "torch" else "light_library")
    assert isinstance(chosen.embedder, LightEmbedder) == (request.param == "light")
    return chosen


def some_photos(world: Path) -> list[Path]:
    return sorted(path for path in (world / "photos").rglob("*") if path.suffix in (".png", ".jpg"))[:4]


def said(caption: Caption | None) -> Any:
    """All that a caption says, but for numbers: they differ by rounding (see `numbers`)."""
    if caption is None:
        return None
    return (
        caption.text,
        (caption.distinct, caption.sure, caption.posterior is None, caption.confidence is None),
        [(word.text, word.noun, word.box) for word in caption.words],
        [(one.word, [photo.content for photo in one.photos]) for one in caption.differences],
        [photo.content for photo in caption.confused_with],
    )


def numbers(caption: Caption | None) -> list[float]:
    return [one for one in (caption.posterior, caption.confidence) if one is not None] if caption else []


def check_equal(one: Caption | None, alone: Caption | None) -> None:
    assert said(one) == said(alone) and numbers(one) == pytest.approx(numbers(alone), abs=1e-3)


def test_photos_described_together_are_described_as_each_alone(
    either: PhotoLibrary, served_world: Path, tmp_path: Path
) -> None:
    describer = Describer(either, neighbours=3)
    photos = some_photos(served_world)[:3]
    (broken := tmp_path / "broken.png").write_bytes(b"no image")
    together = describer.describe_all([photos[0], broken, *photos[1:]], [2, 2, 4, 1])
    assert isinstance(together[1], UnreadableImage)
    for photo, count, one in zip(photos, (2, 4, 1), [together[0], *together[2:]]):
        alone = describer.describe(photo, count)
        assert not isinstance(one, Exception) and len(one.similar) == min(count, len(alone.similar))
        assert [found.content for found in one.similar] == [found.content for found in alone.similar]
        assert one.caption is not None
        check_equal(one.caption, alone.caption)
        check_equal(one.distinctive_caption, alone.distinctive_caption)


def test_photos_with_different_numbers_of_neighbours_go_together(either: PhotoLibrary, served_world: Path) -> None:
    """Copies of a photo are not compared with it: with few photos in the index, photos have different neighbours."""
    describer = Describer(either, neighbours=3)
    photos = some_photos(served_world)
    nearest = either.nearest
    counts = iter([1, 4, 0, 2])
    few = mock.patch.object(either, "nearest", lambda vector, count: nearest(vector, count)[: next(counts)])
    with few:
        together = describer.describe_all(photos, [9] * 4)
    counts = iter([1, 4, 0, 2])
    with few:
        alone = [describer.describe(photo, 9) for photo in photos]
    for one, other in zip(together, alone):
        assert not isinstance(one, Exception)
        check_equal(one.distinctive_caption, other.distinctive_caption)
    assert alone[1].distinctive_caption is not None and alone[2].distinctive_caption is None


def test_photos_dropped_at_once_share_calls_of_the_models(
    either: PhotoLibrary, served_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(either.index, AccessRules(hosts=frozenset({"127.0.0.1"})))
    embedder: Any = type(either.embedder)
    photos = some_photos(served_world)
    calls: list[str] = []
    arrived = threading.Event()
    waiting = 0

    def count(name: str) -> None:
        call = getattr(embedder, name)

        def counted(self: Any, *given: Any) -> Any:
            calls.append(name)
            assert arrived.wait(60)  # the first photo is described when all others are in the queue
            return call(self, *given)

        monkeypatch.setattr(embedder, name, counted)

    run = BatchQueue.run

    async def arriving(self: Any, item: Any) -> Any:
        nonlocal waiting
        waiting += 1
        if waiting == len(photos):
            asyncio.get_running_loop().call_soon(arrived.set)
        return await run(self, item)

    async def drop(together: bool) -> list[Any]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=HERE, timeout=120) as client:
            sent = [client.post("/api/describe", files={"photo": photo.read_bytes()}) for photo in photos]
            answers = await asyncio.gather(*sent) if together else [await one for one in sent]
            return [answer.json() for answer in answers]

    for name in ("see", "describe", "describe_apart"):
        count(name)
    monkeypatch.setattr(BatchQueue, "run", arriving)
    together = asyncio.run(drop(together=True))
    assert calls.count("see") == calls.count("describe") == 2  # one alone, and those that came meanwhile
    assert 1 <= calls.count("describe_apart") < len(photos)
    for one, alone in zip(together, asyncio.run(drop(together=False))):
        for caption in ("caption", "distinctive_caption"):
            assert (one[caption] or {}).get("text") == (alone[caption] or {}).get("text")
        assert [photo["id"] for photo in one["similar"]] == [photo["id"] for photo in alone["similar"]]


def test_an_edit_on_a_full_disk_is_a_whole_answer_with_507(
    own_index: Path, open_photos: OpenPhotos, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = open_photos(own_index)
    rules = AccessRules(hosts=frozenset({"127.0.0.1"}))
    with TestClient(create_app(photos, rules), HERE, raise_server_exceptions=False) as client:
        photo = client.get("/api/photos").json()["photos"][0]
        with monkeypatch.context() as patch:
            patch.setattr(writing, "edit", lambda *given: full_disk())
            answer = client.put(f"/api/photos/{photo['id']}/caption", json={"caption": "mine"})
        assert answer.status_code == 507 and "nothing was changed" in answer.json()["detail"]
        assert client.get(f"/api/photos/{photo['id']}").json()["caption"] == photo["caption"]


def full_disk() -> None:
    """What SQLite raises without space."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute("PRAGMA max_page_count = 1")
        database.execute("CREATE TABLE large (text TEXT)")


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
            before, after = visit(14), visit(42)
        finally:
            tracemalloc.stop()
        assert after - before < 300_000, f"{after - before:,} bytes in 168 requests"
