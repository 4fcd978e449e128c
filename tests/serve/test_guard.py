"""Hosts, tokens, sizes and time, with the smallest application behind the guard."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from starlette.exceptions import HTTPException

from tellapart.cli.serve import ServeOptions, open_server
from tellapart.core.errors import InputError
from tellapart.serve.guard import Admission, Guard
from tellapart.serve.turns import Turns

TOKEN = "abcdefghijkl"


def client(admission: Admission, address: str = "http://127.0.0.1:8000") -> TestClient:
    app = FastAPI()
    app.add_middleware(Guard, admission=admission)

    @app.get("/")
    def page() -> str:
        return "in"

    @app.post("/api/photos")
    async def count(request: Request) -> int:
        return len(await request.body())

    return TestClient(app, address, follow_redirects=False)


def test_only_its_own_names() -> None:
    admission = Admission(hosts=frozenset({"127.0.0.1", "[::1]"}))
    assert client(admission).get("/").status_code == 200
    assert client(admission, "http://[::1]:9").get("/").status_code == 200
    assert client(admission, "http://rebound.example:8000").get("/").status_code == 421
    elsewhere = client(admission).post("/api/photos", headers={"sec-fetch-site": "cross-site"})
    assert elsewhere.status_code == 403


def test_a_token_in_the_address_becomes_a_cookie() -> None:
    visitor = client(Admission(TOKEN))
    assert visitor.get("/").status_code == 401 and "<form" in visitor.get("/").text
    assert visitor.post("/api/photos").status_code == 401
    assert visitor.get("/", params={"token": "wrong"}).status_code == 401
    entry = visitor.get("/", params={"token": TOKEN})
    assert entry.status_code == 303 and entry.headers["location"] == "/"
    assert "HttpOnly" in entry.headers["set-cookie"] and TOKEN not in entry.headers["set-cookie"]
    assert visitor.get("/").status_code == 200


@pytest.mark.parametrize(
    ("header", "status"),
    [(f"Bearer {TOKEN}", 200), (f"bearer {TOKEN}", 200), ("Bearer", 401), ("Bearer é", 401), (TOKEN, 401)],
)
def test_a_token_in_a_header(header: str, status: int) -> None:
    answer = client(Admission(TOKEN)).get("/", headers={"authorization": header.encode("latin-1")})  # type: ignore[dict-item]
    assert answer.status_code == status


def test_large_bodies_are_refused_with_and_without_a_length() -> None:
    visitor = client(Admission(upload_bytes=1000))
    assert visitor.post("/api/photos", content=b"x" * 1000).json() == 1000
    assert visitor.post("/api/photos", content=b"x" * 200_000).status_code == 413
    assert visitor.post("/api/photos", content=(b"x" * 1000 for _ in range(200))).status_code == 413


def test_a_body_that_never_comes() -> None:
    """408 rather than a task for ever."""

    async def reads(scope: Any, receive: Any, send: Any) -> None:
        await receive()

    async def never() -> MutableMapping[str, Any]:
        await asyncio.sleep(60)
        return {}

    async def send(message: MutableMapping[str, Any]) -> None: ...

    scope = {"type": "http", "method": "POST", "path": "/api/photos", "headers": [], "query_string": b""}
    with pytest.raises(HTTPException) as refused:
        asyncio.run(Guard(reads, Admission(upload_seconds=0.05))(scope, never, send))
    assert refused.value.status_code == 408


def test_turns_send_the_crowd_away() -> None:
    async def crowd() -> list[Any]:
        turns = Turns(at_once=1, waiting=1)
        return await asyncio.gather(*(turns.take(lambda: 1) for _ in range(4)), return_exceptions=True)

    answers = asyncio.run(crowd())
    assert answers[:2] == [1, 1] and [one.status_code for one in answers[2:]] == [503, 503]


@pytest.mark.parametrize(
    "wrong", [{"token": "short"}, {"port": 70_000}, {"upload_megabytes": 0}, {"neighbours": 0}, {"index": "nowhere"}]
)
def test_wrong_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        open_server(ServeOptions(**{"index": "none", **wrong}))
