"""Slow clients: those that send or read slowly are disconnected, and others are answered meanwhile."""

from __future__ import annotations

import contextlib
import functools
import socket
import time
from pathlib import Path

from torture.campaign import Campaign, Case, check, number_of
from torture.served_index import MODULES, Running, get, make, read_all, start, status_of

PATIENCE = 1.0
CLIENTS = 50
KINDS = {
    "half a header": b"GET / HTTP/1.1\r\nHost: 127",
    "no byte": b"",
    "half a body": b"PUT /api/photos/0/caption HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999\r\n\r\n{",
    "half an upload": b"POST /api/describe HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999\r\n"
    b"Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n",
    "byte by byte": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nA: ",
    "never reads": get("/api/photos?count=200") * 200,
}
"""What a slow client sends, and then nothing; of `byte by byte` one letter every tenth of a second."""
CASES = 10 * len(KINDS)


@functools.cache
def _running(world: Path, scratch: Path) -> Running:
    return start(world, scratch, patience=PATIENCE)


def wait(case: Case) -> None:
    """Open slow connections, and measure how others are answered and when the slow ones end."""
    home = case.folder.parent / "slow"
    home.mkdir(exist_ok=True)
    server = _running(case.folder, home)
    name = list(KINDS)[case.number % len(KINDS)]
    slow = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(CLIENTS)]
    try:
        for one in slow:
            one.setblocking(False)
            with contextlib.suppress(ConnectionError, BlockingIOError):
                one.send(KINDS[name])
        # On a busy machine the server may be too late to read even our request before its patience ends: ask again.
        answers = (status_of(server.request(get("/api/index"), 60)) for _ in range(5))
        check(200 in answers, f"no answer beside clients that send {name}")
        end = time.monotonic() + (3 * PATIENCE if name == "byte by byte" else 0)
        while time.monotonic() < end:
            for one in slow:
                with contextlib.suppress(OSError):
                    one.send(b"x")
            time.sleep(0.1)
        if name != "never reads":  # such a client is disconnected too, but what it did not read still arrives
            for one in slow:
                one.settimeout(60)
                with contextlib.suppress(ConnectionError):
                    read_all(one)
    except TimeoutError:
        check(False, f"a client that sends {name} stays connected")
    finally:
        for one in slow:
            one.close()
    check(server.is_alive(), "the server has ended")


SLOW_CLIENTS = Campaign(run=wait, count=number_of(CASES), sample=3, make=make, preload=MODULES, chunk=CASES)
