"""The progress of indexing on the page: by another process, and by `serve --update` from nothing."""

import json
import shutil
import socket
import time
from pathlib import Path

import pytest

from page_in_browser import TOKEN, Page, served
from tellapart.core.errors import InputError
from tellapart.search.update_status import FILE, read_status
from tellapart.serve.server import Server, ServerSettings, open_server


def test_an_update_by_another_process(page: Page, page_server: Server, album: Path) -> None:
    before = (album / "index" / FILE).read_text()
    status = {**json.loads(before), "running": True, "done": 1200, "total": 5000, "written": time.time(), "skipped": 2}
    try:
        (album / "index" / FILE).write_text(json.dumps(status))
        page.open(page_server)
        page.until_text("#progress-text", "1,200 of 5,000 photos")
        assert page.one("#progress label").text == "Indexing photos"
        assert page.run("return document.getElementById('progress-bar').position") == 0.24
        assert page.text("#about").endswith("2 files could not be read.")
        (album / "index" / FILE).write_text(before)
        page.until("#progress", lambda element: not element.is_displayed())
        page.until("#about", lambda element: "could not" not in element.text)
    finally:
        (album / "index" / FILE).write_text(before)


def test_serve_update_fills_a_new_index(page: Page, served_world: Path, tmp_path: Path) -> None:
    """The page opens at once, without photos, and shows them as they come."""
    (tmp_path / "photos").mkdir()
    for name in ("red-left.png", "blue-left.png"):
        shutil.copy(served_world / "photos" / name, tmp_path / "photos")
    models = str(served_world / "find"), None, "cpu"
    settings = ServerSettings(port=0, token=TOKEN)
    with served(open_server(str(tmp_path / "index"), settings, *models, [tmp_path / "photos"])) as server:
        page.browser.get("about:blank")
        page.browser.get(server.address)
        page.until_text("#about", "No photos yet. They appear here while they are indexed.")
        assert page.one("#progress").is_displayed()
        page.wait(lambda: len(page.all_of("#results li")) == 2, 90)
        page.until("#about", lambda element: element.text.startswith("2 photos, indexed today at"))
        assert server.updater is not None and server.updater.process is not None
        assert server.updater.process.wait(60) == 0
    # Without a value, it updates from the folders that it has photos of.
    again = open_server(str(tmp_path / "index"), settings, *models, [])
    assert again.updater is not None and str(tmp_path / "photos") in again.updater.command
    again.socket.close()
    status = read_status(str(tmp_path / "index"))
    assert status is not None and not status.running and status.done == status.total == 2


def test_what_cannot_be_updated(served_world: Path, tmp_path: Path) -> None:
    matcher = str(served_world / "find")
    with pytest.raises(InputError, match="is not a folder"):
        open_server(str(tmp_path / "index"), None, matcher, None, "cpu", [tmp_path / "nowhere"])
    assert not (tmp_path / "index").exists()
    with pytest.raises(InputError, match="No index at"):
        open_server(str(tmp_path / "index"), None, matcher, None, "cpu", [])


def test_an_update_that_is_ended_with_the_server_is_not_running(served_world: Path, tmp_path: Path) -> None:
    models = str(served_world / "find"), None, "cpu"
    server = open_server(str(tmp_path / "index"), ServerSettings(port=0), *models, [served_world / "photos"])
    assert server.updater is not None
    server.updater.start()
    status = read_status(str(tmp_path / "index"))
    assert status is not None and status.running
    server.updater.stop()
    status = read_status(str(tmp_path / "index"))
    assert status is not None and not status.running and status.ended is None
    server.socket.close()


def test_the_address_may_be_used_as_soon_as_it_is_printed(own_index: Path, served_world: Path) -> None:
    """Programs that start a server read its address from the first line; requests wait until it answers."""
    server = open_server(str(own_index), ServerSettings(port=0), str(served_world / "find"), None)
    with server.socket, socket.create_connection(server.socket.getsockname(), timeout=5) as client:
        assert client.getpeername() == server.socket.getsockname()
