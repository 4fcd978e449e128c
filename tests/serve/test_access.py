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
from tellapart.serve.wrong_tokens import ADDRESSES, SECONDS, TRIES, WrongTokens

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


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:8000", 200),
        ("http://evil.example", 403),
        ("http://127.0.0.1:9000", 403),
        ("http://127.0.0.1", 403),
        ("http://127.0.0.1:8000.evil.example", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_only_the_servers_own_pages_send_changes(origin: str, status: int) -> None:
    visitor = client(AccessRules())
    assert visitor.post("/api/describe", headers={"origin": origin}).status_code == status
    assert visitor.get("/", headers={"origin": origin}).status_code == 200


def test_default_ports_and_proxies_are_the_same_origin() -> None:
    plain = client(AccessRules(), "http://photos.example")
    assert plain.post("/api/describe", headers={"origin": "http://photos.example"}).status_code == 200
    assert plain.post("/api/describe", headers={"origin": "http://photos.example:80"}).status_code == 200
    behind = {"origin": "https://outside.example", "x-forwarded-host": "outside.example"}
    assert plain.post("/api/describe", headers=behind).status_code == 200


def test_wrong_tokens_are_limited() -> None:
    visitor = client(AccessRules(TOKEN))
    for _ in range(TRIES):
        assert visitor.get("/", headers={"authorization": "Bearer wrongwrong12"}).status_code == 401
    rejected = visitor.get("/", headers={"authorization": f"Bearer {TOKEN}"})
    assert rejected.status_code == 429 and 0 < int(rejected.headers["retry-after"]) <= 60
    assert visitor.get("/", params={"token": TOKEN}).status_code == 429
    assert visitor.get("/").status_code == 401  # the page with the form
    rules = AccessRules(TOKEN)
    signed_in = {"cookie": f"{rules.cookie_name}={rules.cookie_value}"}
    assert visitor.get("/", headers=signed_in).status_code == 200


def test_wrong_tokens_are_forgotten_and_counted_by_network() -> None:
    now = [0.0]
    wrong = WrongTokens(lambda: now[0])
    for number in range(TRIES):
        wrong.add(f"2001:db8::{number:x}")
    assert wrong.wait("2001:db8::ffff") == SECONDS and wrong.wait("2001:db9::1") == 0
    now[0] = SECONDS - 1
    assert wrong.wait("2001:db8::1") == 1
    now[0] = SECONDS
    assert wrong.wait("2001:db8::1") == 0
    for number in range(ADDRESSES + 5):
        wrong.add(str(number))
    assert len(wrong._times) == ADDRESSES


def test_head_is_answered_as_get_without_a_body() -> None:
    visitor = client(AccessRules())
    whole, head = visitor.get("/"), visitor.head("/")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == whole.headers["content-length"]
    assert client(AccessRules(TOKEN)).head("/").status_code == 401


def test_a_content_length_of_many_digits_is_too_large() -> None:
    assert client(AccessRules()).post("/api/describe", headers={"content-length": "9" * 5000}).status_code == 413
