"""Hostile input: requests that schemathesis generates from the OpenAPI description, and files that are not photos.

No response may have status 500 or a status that the description does not list, or name a file of the machine.
"""

import gzip
import io
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from tellapart.search.photo_index import PhotoIndex
from tellapart.serve.access import AccessRules
from tellapart.serve.app import create_app

schemathesis = pytest.importorskip("schemathesis", reason="generated requests need it: pip install schemathesis")

from schemathesis import checks  # noqa: E402

OpenPhotos = Callable[[Path], PhotoIndex]
UPLOAD, PIXELS = 300_000, 1_000_000
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
    checks.negative_data_rejection,
]
"""Not `positive_data_acceptance`: a search without words and a file that is not an image fit the description but
fail on purpose."""
ROUTES = [
    ("GET", "/api/filters"),
    ("GET", "/api/index"),
    ("GET", "/api/photos"),
    ("GET", "/api/photos/{id}"),
    ("GET", "/api/photos/{id}/edits"),
    ("GET", "/api/photos/{id}/image"),
    ("GET", "/api/photos/{id}/original"),
    ("GET", "/api/photos/{id}/similar"),
    ("GET", "/api/search"),
    ("POST", "/api/describe"),
    ("PUT", "/api/photos/{id}/caption"),
]
NEVER_INVALID = {("GET", "/api/index", "negative"), ("GET", "/api/filters", "negative")}
"""They have no arguments, so that no request can be invalid."""
SECRETS = ("Traceback", "site-packages", ".py", "/tmp", "/home", "lance", "secret.txt")


def assert_no_leaks(text: str, world: Path) -> None:
    assert not [word for word in (*SECRETS, str(world), world.name + "/") if word in text], text[:500]


@pytest.fixture(scope="module")
def app(served_world: Path, open_photos: OpenPhotos, tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """Over its own copy of the index, because generated captions are saved."""
    import shutil

    own = shutil.copytree(served_world / "index", tmp_path_factory.mktemp("fuzz") / "index")
    return create_app(open_photos(Path(own)), AccessRules(upload_bytes=UPLOAD, originals=True), PIXELS)


@pytest.fixture(scope="module")
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, "http://127.0.0.1") as opened:
        yield opened


@pytest.fixture(scope="module")
def photo_id(client: TestClient) -> str:
    return client.get("/api/search", params={"query": "a red ball"}).json()["photos"][0]["id"]


@pytest.fixture(scope="module")
def schema(app: FastAPI) -> Any:
    return schemathesis.openapi.from_asgi("/api/openapi.json", app)


def test_every_route_is_tried(schema: Any) -> None:
    assert sorted((one.ok().method.upper(), one.ok().path) for one in schema.get_all_operations()) == ROUTES


@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [
        (*route, mode)
        for route in ROUTES
        for mode in schemathesis.GenerationMode
        if (*route, mode.value) not in NEVER_INVALID
    ],
)
def test_generated_requests(schema: Any, photo_id: str, served_world: Path, method: str, path: str, mode: Any) -> None:
    """Valid and invalid requests. Generated ids exist in no index, so that requests by id also use one that exists."""
    operation = schema[path][method]
    requests = operation.as_strategy(generation_mode=mode)
    if "{id}" in path:
        requests |= operation.as_strategy(generation_mode=mode, path_parameters={"id": photo_id})

    @given(requests)
    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    def send(case: Any) -> None:
        answer = case.call_and_validate(checks=CHECKS)
        if not answer.headers["content-type"][0].startswith("image/"):
            assert_no_leaks(answer.text, served_world)

    send()


def test_the_path_of_a_broken_photo_is_logged_but_not_sent(
    served_world: Path, open_photos: OpenPhotos, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from tellapart.cli.index import IndexOptions, index

    (tmp_path / "photos").mkdir()
    photo = tmp_path / "photos" / "red.png"
    photo.write_bytes(png())
    find = str(served_world / "find")
    index(IndexOptions((photo.parent,), str(tmp_path / "index"), find, "none", progress=False))
    visitor = TestClient(create_app(open_photos(tmp_path / "index"), max_upload_pixels=PIXELS), "http://127.0.0.1")
    (found,) = visitor.get("/api/search", params={"query": "a red ball"}).json()["photos"]
    photo.write_bytes(b"not an image")
    answer = visitor.get(f"/api/photos/{found['id']}/image")
    assert answer.status_code == 404 and str(photo) in caplog.text
    assert_no_leaks(answer.text, tmp_path)


def png(width: int = 96, height: int = 64) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(written, "PNG")
    return written.getvalue()


def with_chunk(kind: bytes, body: bytes) -> bytes:
    """A small PNG with another chunk after its header."""
    whole = png()
    chunk = struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return whole[:33] + chunk + whole[33:]


def claims(kind: str, width: int, height: int) -> bytes:
    """A small image whose header claims a huge size."""
    written = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(written, kind)
    data = bytearray(written.getvalue())
    if kind == "PNG":
        data[16:24] = struct.pack(">II", width, height)
        data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    elif kind == "GIF":
        data[6:10] = struct.pack("<HH", width, height)
    elif kind == "BMP":
        data[18:26] = struct.pack("<ii", width, height)
    else:
        place = data.index(b"\xff\xc0") + 5
        data[place : place + 4] = struct.pack(">HH", height, width)
    return bytes(data)


def laughs() -> bytes:
    """An SVG of nested entities that expand to ten billion words."""
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 11))
    return f'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY l0 "ha">{entities}]><svg>&l10;</svg>'.encode()


NOT_PHOTOS = {
    "nothing": b"",
    "SVG": b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
    "SVG bomb": laughs(),
    "SVG that reads a file": b'<!DOCTYPE s [<!ENTITY f SYSTEM "file:///etc/passwd">]><svg><text>&f;</text></svg>',
    "packed SVG bomb": gzip.compress(laughs() * 1000),
    "PostScript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/etc/passwd) (r) file\n%%EOF\n",
    "PDF": b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF",
    "page": b"<!doctype html><script>alert(1)</script>",
    "zip bomb": gzip.compress(bytes(100_000_000)),
    "film": b"\0\0\0\x18ftypisom\0\0\2\0isomiso2" + bytes(400),
    "script": b"#!/bin/sh\nexit 1\n",
    "plain pixels": b"P6 9999 9999 255\n" + bytes(300),
    "half a PNG": png()[:60],
    "PNG without pixels": png()[:33] + b"\0\0\0\0IEND\xaeB`\x82",
    "half a JPEG": claims("JPEG", 8, 8)[:-40],
}
TOO_LARGE = {
    **{f"{kind} bomb": claims(kind, 60_000, 60_000) for kind in ("PNG", "JPEG", "GIF", "BMP")},
    "true bomb": png(5000, 5000),
    "giant": b"\x89PNG\r\n\x1a\n" + bytes(UPLOAD + 100_000),
}


@pytest.mark.parametrize("name", [*NOT_PHOTOS, *TOO_LARGE])
def test_other_files(client: TestClient, served_world: Path, name: str) -> None:
    data = {**NOT_PHOTOS, **TOO_LARGE}[name]
    for called in ("photo.jpg", "../../../etc/passwd", "a\0b.svg"):
        answer = client.post("/api/describe", files={"photo": (called, data, "image/svg+xml")})
        assert answer.status_code == (413 if name in TOO_LARGE else 415), answer.text[:300]
        assert_no_leaks(answer.text, served_world)


@pytest.mark.parametrize("kind", [b"zTXt", b"iTXt", b"iCCP"])
def test_decompression_bombs_in_metadata(client: TestClient, served_world: Path, kind: bytes) -> None:
    """Text and colour profiles are compressed too: 100 MB of them in a small photo."""
    packed = zlib.compress(bytes(100_000_000), 9)
    head = b"a\0\1\0\0\0" if kind == b"iTXt" else b"a\0\0"
    answer = client.post("/api/describe", files={"photo": with_chunk(kind, head + packed)})
    assert answer.status_code in (200, 415)
    assert_no_leaks(answer.text.partition("data:")[0], served_world)


def test_truncated_photos(client: TestClient, served_world: Path) -> None:
    whole = {}
    for kind in ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP"):
        written = io.BytesIO()
        Image.linear_gradient("L").resize((24, 20)).convert("RGB").save(written, kind)
        whole[kind] = written.getvalue()

    @given(st.sampled_from(sorted(whole)), st.floats(0, 0.999))
    @settings(max_examples=40, deadline=None)
    def cut(kind: str, share: float) -> None:
        answer = client.post("/api/describe", files={"photo": whole[kind][: int(share * len(whole[kind]))]})
        assert answer.status_code in (200, 415)  # a cut after the last pixel is harmless
        assert_no_leaks(answer.text.partition("data:")[0], served_world)

    cut()
