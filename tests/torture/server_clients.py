"""Fifty clients for ten minutes: every answer is right, and the memory of the server stays flat.

A case is two seconds. The clients search, open photos and pages, save captions, and now and then upload a photo.
"""

from __future__ import annotations

import functools
import http.client
import json
import random
import threading
import time
from pathlib import Path

from torture import memory
from torture.campaign import Campaign, Case, check, number_of
from torture.served_index import MODULES, Running, make, start

CLIENTS, SECONDS, CASES = 50, 2.0, 300
WARM = 60
"""Cases after which memory is compared: caches are full by then."""
GROWTH = 24 << 20
"""Bytes by which memory may still grow in the remaining eight minutes."""
THINK = 0.4
"""Seconds between two requests of a client, on average."""
UPLOADS = 0.02
"""Share of requests that upload a photo."""


@functools.cache
def _running(world: Path, scratch: Path) -> tuple[Running, list[int]]:
    """The server, and its memory after every case."""
    return start(world, scratch, patience=30), []


def visit(case: Case) -> None:
    """Let all clients send requests for some seconds."""
    home = case.folder.parent / "visited"
    home.mkdir(exist_ok=True)
    server, sizes = _running(case.folder, home)
    faults: list[str] = []
    threads = [threading.Thread(target=_client, args=(server, case, number, faults)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(not faults, f"{len(faults)} wrong answers, such as {faults[:1]}")
    check(server.is_alive(), "the server has ended")
    sizes.append(memory.held(server.process))
    (case.folder.parent / "memory.json").write_text(json.dumps(sizes))
    if len(sizes) > WARM:
        grown = sizes[-1] - sizes[WARM - 1]
        check(grown < GROWTH, f"memory has grown by {grown >> 20} MB since the second minute, to {sizes[-1] >> 20} MB")


def _client(server: Running, case: Case, number: int, faults: list[str]) -> None:
    """One visitor, whose requests follow each other with pauses."""
    draw = random.Random(f"{case.seed} {case.number} {number}")
    end = time.monotonic() + SECONDS
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        ids = [photo["id"] for photo in json.loads(_answer(connection, "GET", "/api/photos?count=50"))["photos"]]
        while time.monotonic() < end:
            _request(connection, draw, ids)
            time.sleep(draw.uniform(0, 2 * THINK))
    except Exception as error:
        faults.append(f"{type(error).__name__}: {error}")
    finally:
        connection.close()


def _request(connection: http.client.HTTPConnection, draw: random.Random, ids: list[str]) -> None:
    one = draw.choice(ids)
    if draw.random() < UPLOADS:
        from torture.image_files import image_files

        body = b'--b\r\nContent-Disposition: form-data; name="photo"; filename="a.png"\r\n\r\n'
        body += image_files()[".png"][0] + b"\r\n--b--\r\n"
        _answer(connection, "POST", "/api/describe", body, "multipart/form-data; boundary=b")
        return
    if draw.random() < 0.05:
        text = json.dumps({"caption": f"seen {draw.randrange(1000)}"}).encode()
        _answer(connection, "PUT", f"/api/photos/{one}/caption", text, "application/json")
        return
    path = draw.choice(("/", "/api/index", "/api/search?query=red+ball", f"/api/search?query=ball+{draw.randrange(99)}",
                        f"/api/photos/{one}", f"/api/photos/{one}/image", f"/api/photos/{one}/similar"))  # fmt: skip
    _answer(connection, "GET", path)


def _answer(connection: http.client.HTTPConnection, method: str, path: str, body: bytes = b"", kind: str = "") -> bytes:
    connection.request(method, path, body or None, {"Content-Type": kind} if kind else {})
    answer = connection.getresponse()
    data = answer.read()
    check(answer.status == 200, f"{method} {path}: status {answer.status}, {data[:200]!r}")
    return data


SERVER_CLIENTS = Campaign(
    run=visit, count=number_of(CASES), sample=1, make=make, preload=(*MODULES, "torture.image_files"), chunk=CASES
)
