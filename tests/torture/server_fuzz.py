"""Fuzzed requests to a real server: no answer has status 500, names a file of the machine, or keeps others waiting."""

from __future__ import annotations

import functools
import json
import random
from pathlib import Path
from urllib.parse import quote

from torture.campaign import Campaign, Case, check, number_of
from torture.mutants import mutated
from torture.served_index import MODULES, Running, get, make, start, status_of

CASES = 10_000
PATIENCE = 0.3
"""Seconds after which the server gives up a request that does not go on."""
VALUES = (
    "", "0", "1", "-1", "24", "201", "9" * 30, "1e3", "nan", "null", "true", "'", '" OR 1=1', "%00", "../../etc/passwd",
    "\u202e", "é" * 50, "a" * 299, "a" * 5000, "2020-01-01", "2020-13-40", "0001-01-01", "9999-12-31", "{}", "[1]",
    "red ball", "-red", "<script>", "\ud83d", "\x7f", "a\tb", "🐕",
)  # fmt: skip
METHODS = ("GET", "GET", "GET", "GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "TRACE", "get", "X" * 30)
PARAMETERS = ("query", "without", "after", "before", "count", "offset", "size", "similar", "token", "x")
HEADERS = (
    "Range: bytes=0-1", "Range: bytes=9-1,5-", "If-None-Match: *", "If-Modified-Since: x", "Accept: text/html",
    "Accept-Encoding: gzip;q=x", "Origin: http://127.0.0.1", "Origin: null", "Cookie: a=b; tellapart-x=\x01",
    "Transfer-Encoding: chunked", "Content-Length: -1", "Content-Length: 99999999", "Host: evil.example", "Expect: x",
    "Upgrade: websocket", "X-Forwarded-Host: a", "Authorization: Bearer x", "Content-Encoding: gzip",
    "A: " + "b" * 9000,
)  # fmt: skip
LEAKS = (b"Traceback", b"site-packages", b'.py"', b"/tmp", b"/home", b"lance")


@functools.cache
def _running(world: Path, scratch: Path) -> Running:
    return start(world, scratch, patience=PATIENCE)


@functools.cache
def _ids(server: Running) -> list[str]:
    answer = server.request(get("/api/photos?count=50"))
    return [photo["id"] for photo in json.loads(answer.split(b"\r\n\r\n", 1)[1])["photos"]]


@functools.cache
def _photo() -> bytes:
    from torture.image_files import image_files

    return image_files()[".png"][0]


def attack(case: Case) -> None:
    """Send one request and judge its answer."""
    home = case.folder.parent / "served"
    home.mkdir(exist_ok=True)
    server = _running(case.folder, home)
    draw = random.Random(f"{case.seed} request {case.number}")
    answer = server.request(request_of(draw, _ids(server)))
    status = status_of(answer)
    check(server.is_alive(), "the server has ended")
    check(status != 500, f"status 500: {answer[:400]!r}")
    check(not answer or 100 <= status < 600, f"no HTTP: {answer[:100]!r}")
    if status >= 400:
        leaks = [word for word in (*LEAKS, str(case.folder).encode()) if word in answer]
        check(not leaks, f"an error names {leaks}: {answer[-300:]!r}")
    if case.number % 100 == 0:
        later = (status_of(server.request(get("/api/index"))) for _ in range(5))  # a slow machine may need a second try
        check(200 in later, "the next visitor gets no answer")


def request_of(draw: random.Random, ids: list[str]) -> bytes:
    """A request to some route, whose parts are often wrong."""
    path, method, body, kind = _route(draw, ids)
    if draw.random() < 0.3:
        method = draw.choice(METHODS)
    if draw.random() < 0.7:
        pairs = [f"{draw.choice(PARAMETERS)}={_encoded(draw)}" for _ in range(draw.randrange(1, 4))]
        path += "?" + "&".join(pairs)
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    lines += [draw.choice(HEADERS) for _ in range(draw.choice((0, 0, 1, 2)))]
    if body:
        lines += [f"Content-Length: {len(body)}", f"Content-Type: {kind}"]
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogatepass")
    whole = head + body
    return mutated(whole, draw) if draw.random() < 0.15 else whole


def _route(draw: random.Random, ids: list[str]) -> tuple[str, str, bytes, str]:
    one = (
        draw.choice(ids)
        if draw.random() < 0.7
        else quote(draw.choice(VALUES).encode("utf-8", "surrogatepass"), safe="")
    )
    kind = draw.randrange(12)
    if kind == 0:
        value = draw.choice(
            ('{"caption": "new"}', '{"caption": null}', '{"caption": 3}', "[]", "{", '{"caption": "\\ud800"}')
        )
        text = json.dumps({"caption": draw.choice(VALUES)}) if draw.random() < 0.5 else value
        return f"/api/photos/{one}/caption", "PUT", text.encode("utf-8", "surrogatepass"), "application/json"
    if kind == 1:
        return "/api/describe", "POST", *_upload(draw)
    of_photo = [f"/api/photos/{one}{part}" for part in ("", "/image", "/similar", "/edits", "/original")]
    places = [
        "/",
        "/api/index",
        "/api/search",
        "/api/search",
        "/api/photos",
        "/api/openapi.json",
        "/page.js",
        *of_photo,
    ]
    places += ["/../secret", "/%2e%2e/x", "//", "/api/photos//image"]
    return draw.choice(places), "GET", b"", ""


def _upload(draw: random.Random) -> tuple[bytes, str]:
    photo = mutated(_photo(), draw) if draw.random() < 0.7 else _photo()
    name = draw.choice(("photo", "photo", "photo", "file", ""))
    file = draw.choice(("a.png", "../../a", "a\x00b", "é" * 200, ""))
    part = f'--b\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"\r\nContent-Type: image/png\r\n\r\n'
    body = part.encode() + photo + b"\r\n--b--\r\n"
    kind = draw.choice(("multipart/form-data; boundary=b",) * 4 + ("multipart/form-data", "text/plain", "image/png"))
    return (mutated(body, draw) if draw.random() < 0.2 else body), kind


def _encoded(draw: random.Random) -> str:
    value = draw.choice(VALUES).encode("utf-8", "surrogatepass")
    return quote(value, safe="") if draw.random() < 0.8 else value.replace(b" ", b"+").decode("latin-1")


SERVER_FUZZ = Campaign(
    run=attack, count=number_of(CASES), sample=100, make=make, preload=(*MODULES, "torture.image_files"), chunk=2500
)
