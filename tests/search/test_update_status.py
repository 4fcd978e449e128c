"""What other processes read while an index is updated: how far it is, and when the last update ended."""

import json
import threading
import time
from pathlib import Path

import pytest

from embeds_colours import Colours, fill, paint
from tellapart.core.errors import InputError
from tellapart.search import update_status
from tellapart.search.update_status import FILE, UpdateStatus, announce, read_status, withdraw


def test_an_update_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update_status, "WRITE_EVERY", 0.02)
    for number in range(12):
        paint(tmp_path / "photos" / f"{number}.png", (200, number, 0))
    (tmp_path / "photos" / "broken.png").write_text("no image")
    where = tmp_path / "index"
    thread = threading.Thread(target=fill, args=(where, Colours(slow=0.05), tmp_path / "photos"))
    thread.start()
    seen: set[int] = set()
    while thread.is_alive():
        status = read_status(str(where))
        if status is not None and status.running:
            assert status.ended_at is None
            seen.add(status.done)
        time.sleep(0.01)
    assert len(seen) >= 3 and max(seen) <= 13
    status = read_status(str(where))
    assert status is not None and not status.running and status.done == 13 and status.skipped == 1
    assert status.ended is not None and abs(status.ended - time.time()) < 60

    # An update without changes counts too, and an update that fails does not.
    fill(where, Colours(), tmp_path / "photos")
    later = read_status(str(where))
    assert later is not None and later.ended is not None and later.ended > status.ended
    for file in (tmp_path / "photos").iterdir():
        file.unlink()
    with pytest.raises(InputError, match="holds no photos now"):
        fill(where, Colours(), tmp_path / "photos")
    failed = read_status(str(where))
    assert failed is not None and not failed.running and failed.ended == later.ended


def test_a_writer_that_was_killed_is_not_running(tmp_path: Path) -> None:
    assert read_status(str(tmp_path)) is None and read_status("s3://bucket/index") is None
    now = {"running": True, "done": 3, "total": 9, "skipped": 0, "ended": None, "written": time.time()}
    (tmp_path / FILE).write_text(json.dumps(now))
    assert read_status(str(tmp_path)) == UpdateStatus(**now)
    (tmp_path / FILE).write_text(json.dumps({**now, "written": time.time() - 100}))
    killed = read_status(str(tmp_path))
    assert killed is not None and not killed.running
    for text in ("", "[1]", '{"unknown": 1}', '{"running": true, "written": "now"}'):
        (tmp_path / FILE).write_text(text)
        assert read_status(str(tmp_path)) is None


def test_an_update_is_announced_before_its_models_are_loaded(tmp_path: Path) -> None:
    ended = {"running": False, "done": 9, "total": 9, "skipped": 1, "ended": 5.0, "written": 5.0}
    (tmp_path / FILE).write_text(json.dumps(ended))
    announce(str(tmp_path))
    status = read_status(str(tmp_path))
    assert status is not None and status.running and status.done == 0 and status.total is None and status.ended == 5
    withdraw(str(tmp_path))
    status = read_status(str(tmp_path))
    assert status is not None and not status.running and status.ended == 5


def test_a_status_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    paint(tmp_path / "photos" / "red.png", (200, 0, 0))
    (tmp_path / "index" / FILE).mkdir(parents=True)
    assert fill(tmp_path / "index", Colours(), tmp_path / "photos")[1].added == 1
