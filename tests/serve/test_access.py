"""Access rules (hosts, tokens, sizes, time) with a minimal application, the work queue, and invalid settings."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from starlette.exceptions import HTTPException

from tellapart.core.errors import InputError
from tellapart.serve.access import AccessMiddleware, AccessRules
from tellapart.serve.server import ServerSettings, open_server
from tellapart.serve.work_queue import WorkQueue

TOKEN = "abcdefghijkl"


def client(rules: AccessRules, address: str = "http://127.0.0.1:8000") -> TestClient:
    app = FastAPI()
    app.add_middleware(AccessMiddleware, rules=rules)

    @app.get("/")
    def page() -> str:
        return "in"

    @app.post("/api/describe")
    async def count(request: Request) -> int:
        return len(await request.body())

    return TestClient(app, address, follow_redirects=False)


def test_host_names() -> None:
    rules = AccessRules(hosts=frozenset({"127.0.0.1", "[::1]"}))
    assert client(rules).get("/").status_code == 200
    assert client(rules, "http://[::1]:9").get("/").status_code == 200
    assert client(rules, "http://rebound.example:8000").get("/").status_code == 421
    elsewhere = client(rules).post("/api/describe", headers={"sec-fetch-site": "cross-site"})
    assert elsewhere.status_code == 403


def test_a_token_in_the_address_becomes_a_cookie() -> None:
    visitor = client(AccessRules(TOKEN))
    assert visitor.get("/").status_code == 401 and "<form" in visitor.get("/").text
    assert visitor.post("/api/describe").status_code == 401
    wrong = visitor.get("/", params={"token": "wrong"})
    assert wrong.status_code == 401 and "This token is wrong." in wrong.text
    entry = visitor.get("/", params={"token": TOKEN})
    assert entry.status_code == 303 and entry.headers["location"] == "/"
    assert "HttpOnly" in entry.headers["set-cookie"] and TOKEN not in entry.headers["set-cookie"]
    assert visitor.get("/").status_code == 200


@pytest.mark.parametrize(
    ("header", "status"),
    [(f"Bearer {TOKEN}", 200), (f"bearer {TOKEN}", 200), ("Bearer", 401), ("Bearer é", 401), (TOKEN, 401)],
)
def test_a_token_in_a_header(header: str, status: int) -> None:
    answer = client(AccessRules(TOKEN)).get("/", headers=[(b"authorization", header.encode("latin-1"))])
    assert answer.status_code == status


def test_large_bodies_are_rejected_with_and_without_a_length() -> None:
    visitor = client(AccessRules(upload_bytes=1000))
    assert visitor.post("/api/describe", content=b"x" * 1000).json() == 1000
    assert visitor.post("/api/describe", content=b"x" * 200_000).status_code == 413
    assert visitor.post("/api/describe", content=(b"x" * 1000 for _ in range(200))).status_code == 413


def test_a_body_that_never_comes() -> None:
    """408 instead of a task that never ends."""

    async def reads(scope: Any, receive: Any, send: Any) -> None:
        await receive()

    async def never() -> MutableMapping[str, Any]:
        await asyncio.sleep(60)
        return {}

    async def send(message: MutableMapping[str, Any]) -> None: ...

    scope = {"type": "http", "method": "POST", "path": "/api/describe", "headers": [], "query_string": b""}
    with pytest.raises(HTTPException) as raised:
        asyncio.run(AccessMiddleware(reads, AccessRules(upload_seconds=0.05))(scope, never, send))
    assert raised.value.status_code == 408


def test_a_full_queue_answers_503() -> None:
    async def ask_four_times() -> list[Any]:
        queue = WorkQueue(concurrent=1, waiting=1)
        return await asyncio.gather(*(queue.run(lambda: 1) for _ in range(4)), return_exceptions=True)

    answers = asyncio.run(ask_four_times())
    assert answers[:2] == [1, 1] and [one.status_code for one in answers[2:]] == [503, 503]


@pytest.mark.parametrize(
    ("name", "value"), [("token", "short"), ("port", 70_000), ("upload_megabytes", 0), ("neighbours", 0)]
)
def test_invalid_settings_name_the_argument(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"`{name}`"):
        ServerSettings(**{name: value})


def test_a_missing_index() -> None:
    with pytest.raises(InputError, match="nowhere"):
        open_server("nowhere")
