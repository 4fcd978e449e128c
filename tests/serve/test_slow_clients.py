"""Clients that send half a request do not keep others waiting."""

import contextlib
import socket
from pathlib import Path

import pytest

from page_in_browser import TOKEN, opened, served
from tellapart.serve import timeouts


def test_slow_clients_are_disconnected(own_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that send half a header are disconnected, while others get a response."""
    import httpx

    monkeypatch.setattr(timeouts, "HEADER_SECONDS", 2.0)
    with served(opened(own_index)) as server:
        place = server.socket.getsockname()
        slow = [socket.create_connection(place) for _ in range(60)]
        for one in slow:
            one.sendall(b"GET / HTTP/1.1\r\nHost: ")
        headers = {"authorization": f"Bearer {TOKEN}"}
        answer = httpx.get(f"http://127.0.0.1:{place[1]}/api/index", headers=headers, timeout=60)
        assert answer.json()["photos"] == 12
        for one in slow:
            one.settimeout(60)
            with contextlib.suppress(ConnectionResetError):
                assert one.recv(10) == b""
            one.close()
