"""Photos by the API: pages of the newest ones, earlier captions, originals, and the progress of an update."""

import datetime
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from index_rows import set_columns
from tellapart.search.photo_index import PhotoIndex
from tellapart.search.sqlite.sqlite_store import SqliteStore
from tellapart.search.update_status import FILE
from tellapart.serve.access import AccessRules
from tellapart.serve.app import create_app
from tellapart.serve.server import ServerSettings, _access_rules

HERE = "http://127.0.0.1"
OpenPhotos = Callable[[Path], PhotoIndex]


@pytest.fixture
def client(own_index: Path, open_photos: OpenPhotos) -> TestClient:
    return TestClient(create_app(open_photos(own_index), AccessRules(originals=True)), HERE)


def test_pages_of_the_newest_photos(client: TestClient) -> None:
    everything = client.get("/api/photos", params={"count": 200}).json()["photos"]
    assert len(everything) == 12
    pages = [client.get("/api/photos", params={"count": 5, "offset": at}).json()["photos"] for at in (0, 5, 10, 15)]
    assert [len(page) for page in pages] == [5, 5, 2, 0] and [one for page in pages for one in page] == everything
    assert client.get("/api/photos", params={"offset": -1}).status_code == 422


def test_newest_photos_with_filters(client: TestClient, own_index: Path) -> None:
    def names(**filters: str) -> int:
        answer = client.get("/api/photos", params={"count": "200", **filters})
        return len(answer.json()["photos"]) if answer.status_code == 200 else -answer.status_code

    assert names(orientation="landscape") == names(folder="photos") == 12
    assert names(orientation="portrait") == names(after="2001-01-01") == names(camera="Leica") == 0
    assert names(folder="nowhere") == names(place="here") == -400 and names(orientation="round") == -422
    wide = client.get("/api/photos", params={"orientation": "landscape", "count": 5, "offset": 10}).json()["photos"]
    assert len(wide) == 2


def test_an_index_without_cameras_says_so_and_names_no_folder(
    client: TestClient, own_index: Path, open_photos: OpenPhotos, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = TestClient(create_app(open_photos(own_index)), HERE)
    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "has", lambda store, column: column not in ("camera", "latitude"))
        for url in ("/api/photos?camera=Leica", "/api/search?query=ball&place=1,2"):
            answer = old.get(url)
            assert answer.status_code == 400 and answer.json()["detail"].startswith("The index was made before")
            assert str(own_index) not in answer.text
    photo = old.get("/api/photos").json()["photos"][0]["id"]
    assert old.get(f"/api/photos/{photo}").json()["camera"] is None


def test_places_are_shown_to_those_who_may_have_originals(
    client: TestClient, own_index: Path, open_photos: OpenPhotos
) -> None:
    photo = client.get("/api/photos").json()["photos"][0]["id"]
    values = {"latitude": 48.2, "longitude": 16.4, "camera": "Leica Q2"}
    set_columns(open_photos(own_index).store, f"content = '{photo}'", **values)
    for originals in (True, False):
        asked = TestClient(create_app(open_photos(own_index), AccessRules(originals=originals)), HERE)
        details = asked.get(f"/api/photos/{photo}").json()
        assert details["camera"] == "Leica Q2"
        assert (details["latitude"], details["longitude"]) == ((48.2, 16.4) if originals else (None, None))


def test_earlier_captions(client: TestClient, own_index: Path, open_photos: OpenPhotos) -> None:
    photo = client.get("/api/photos").json()["photos"][0]["id"]
    assert client.get(f"/api/photos/{photo}/edits").json() == {"edits": []}
    started = datetime.datetime.now(datetime.UTC)
    for caption in ("first", "second", "second", "it's <b>", None):
        assert client.put(f"/api/photos/{photo}/caption", json={"caption": caption}).status_code == 200
    again = TestClient(create_app(open_photos(own_index)), HERE)  # they are stored
    edits = again.get(f"/api/photos/{photo}/edits").json()["edits"]
    assert [edit["caption"] for edit in edits] == [None, "it's <b>", "second", "first"]
    times = [datetime.datetime.fromisoformat(edit["saved"]) for edit in edits]
    assert started <= times[-1] and times == sorted(times, reverse=True)
    other = client.get("/api/photos").json()["photos"][1]["id"]
    assert client.get(f"/api/photos/{other}/edits").json() == {"edits": []}
    assert client.get(f"/api/photos/{'0' * 32}/edits").status_code == 404


def test_originals_are_sent_unchanged_to_those_who_may_have_them(
    client: TestClient, own_index: Path, open_photos: OpenPhotos, served_world: Path, tmp_path: Path
) -> None:
    photo = client.get("/api/photos").json()["photos"][0]
    answer = client.get(f"/api/photos/{photo['id']}/original")
    assert answer.content == (served_world / "photos" / photo["name"]).read_bytes()
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"].startswith("inline")
    assert answer.headers["x-content-type-options"] == "nosniff"
    closed = TestClient(create_app(open_photos(own_index)), HERE)
    rejected = closed.get(f"/api/photos/{photo['id']}/original")
    assert rejected.status_code == 403 and rejected.json()["detail"] == "This server does not send original files."
    assert client.get(f"/api/photos/{'0' * 32}/original").status_code == 404

    # A format that browsers cannot show is saved; a video is played.
    store = open_photos(own_index).store
    for name, shown in (("photo.tiff", ("attachment", "application/octet-stream")), ("a.mp4", ("inline", "video/mp4"))):
        shutil.copy(served_world / "photos" / photo["name"], tmp_path / name)
        values = {"path": str(tmp_path / name), "folder": str(tmp_path)}
        set_columns(store, f"content = '{photo['id']}'", **values)
        fresh = TestClient(create_app(open_photos(own_index), AccessRules(originals=True)), HERE)
        headers = fresh.get(f"/api/photos/{photo['id']}/original").headers
        assert (headers["content-disposition"].split(";")[0], headers["content-type"]) == shown


def test_who_may_have_originals() -> None:
    """By default those who need no token, because only this machine reaches the server."""
    assert _access_rules(ServerSettings()).originals
    assert not _access_rules(ServerSettings(token="letmeinplease")).originals
    assert not _access_rules(ServerSettings(host="0.0.0.0")).originals
    assert _access_rules(ServerSettings(host="0.0.0.0", originals="yes")).originals
    assert not _access_rules(ServerSettings(originals="no")).originals


def test_progress_of_an_update(client: TestClient, own_index: Path) -> None:
    last = client.get("/api/index").json()["indexed"]
    status = {"running": True, "done": 3, "total": 40, "skipped": 2, "ended": 0.0, "written": time.time()}
    (own_index / FILE).write_text(json.dumps(status))
    info = client.get("/api/index").json()
    assert info["indexing"] == {"done": 3, "total": 40} and info["skipped"] == 2
    assert info["indexed"] == "1970-01-01T00:00:00Z"
    (own_index / FILE).unlink()  # an index of an earlier version: the time of its last change
    info = client.get("/api/index").json()
    assert info["indexing"] is None and info["skipped"] == 0
    difference = datetime.datetime.fromisoformat(info["indexed"]) - datetime.datetime.fromisoformat(last)
    assert abs(difference) < datetime.timedelta(minutes=10)
