"""The JSON API: search, images by id, captions that stay, photos told, and everything that must be refused."""

import base64
import io
import shutil
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from tellapart.cli.api import IndexOptions, index
from tellapart.search.embedder import Embedder
from tellapart.search.query import Filters
from tellapart.search.store import open_store
from tellapart.serve.app import make_app
from tellapart.serve.guard import Admission
from tellapart.serve.library import Library

pa = pytest.importorskip("pyarrow")

HERE = "http://127.0.0.1"


@pytest.fixture(scope="module")
def reader(served_world: Path, embedder: Embedder) -> Iterator[TestClient]:
    """A client of the shared index that changes nothing. An exception in a route fails the test."""
    library = Library(open_store(str(served_world / "index")), embedder)
    admission = Admission(hosts=frozenset({"127.0.0.1"}), upload_bytes=300_000)
    with TestClient(make_app(library, admission, 1_000_000), HERE) as client:  # one event loop, as a server has
        yield client


@pytest.fixture
def writer(own_index: Path, embedder: Embedder) -> TestClient:
    return TestClient(make_app(Library(open_store(str(own_index)), embedder), Admission(), 1_000_000), HERE)


def png(width: int = 96, height: int = 64, colour: tuple[int, int, int] = (220, 30, 30)) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(written, "PNG")
    return written.getvalue()


def first(client: TestClient, words: str = "a red ball") -> str:
    return client.get("/api/search", params={"words": words}).json()["found"][0]["id"]


def test_search(reader: TestClient) -> None:
    assert reader.get("/api/index").json() == {
        "photos": 12, "captions": True, "attention": True, "upload_bytes": 300_000, "upload_pixels": 1_000_000
    }  # fmt: skip
    found = reader.get("/api/search", params={"words": "a red ball", "count": 3}).json()["found"]
    assert len(found) == 3 and found[0]["score"] >= found[1]["score"]
    assert found[0]["name"].endswith(".png") and found[0]["caption"] and "/" not in str(found[0])
    assert reader.get("/api/search", params={"words": "ball", "after": "2000-01-01"}).json()["found"] == []
    assert len(reader.get("/api/search", params={"words": "ball", "without": "red"}).json()["found"]) == 12
    for params, status in (({"words": "xyzzy"}, 400), ({}, 400), ({"words": "ball", "count": 0}, 422)):
        answer = reader.get("/api/search", params=params)
        assert answer.status_code == status and isinstance(answer.json()["detail"], str)


def test_many_copies_of_a_image_do_not_hide_the_others(served_world: Path, embedder: Embedder, tmp_path: Path) -> None:
    photos = Path(shutil.copytree(served_world / "photos", tmp_path / "photos"))
    for number in range(30):
        shutil.copy(photos / "red-left.png", photos / f"copy-{number}.png")
    matcher = str(served_world / "find")
    index(IndexOptions((photos,), str(tmp_path / "index"), matcher, "none", progress=False))
    library = Library(open_store(str(tmp_path / "index")), embedder)
    assert len(library.search("a red ball", "", 8, Filters())) == 8
    assert len(library.nearest(embedder.image(photos / "red-left.png"), 20)) == 12


def test_images_by_id(reader: TestClient, served_world: Path) -> None:
    identity = first(reader)
    image = reader.get(f"/api/images/{identity}").json()
    assert image["id"] == identity and image["width"] == 96 and not image["edited"]
    answer = reader.get(f"/api/images/{identity}/image", params={"size": "large"})
    shown = np.asarray(Image.open(io.BytesIO(answer.content)), np.float32)
    with Image.open(served_world / "photos" / image["name"]) as drawn:
        expected = np.asarray(drawn.convert("RGB"), np.float32)
    assert answer.headers["content-type"] == "image/jpeg" and np.abs(shown - expected).mean() < 10
    similar = reader.get(f"/api/images/{identity}/similar", params={"count": 4}).json()["found"]
    assert len(similar) == 4 and identity not in {one["id"] for one in similar}


@pytest.mark.parametrize(
    "asked",
    ["0" * 32, "..%2f..%2fsecret.txt", "%2e%2e/secret.txt", "' OR '1'='1", "secret.txt", "%00", "a" * 5000],
)
def test_no_other_file_is_read(reader: TestClient, asked: str) -> None:
    for tail in ("", "/image", "/similar"):
        answer = reader.get(f"/api/images/{asked}{tail}")
        assert answer.status_code in (404, 422) and "not for you" not in answer.text


def test_a_link_that_leads_out_is_not_followed(own_index: Path, embedder: Embedder, tmp_path: Path) -> None:
    """A row whose file has become a link to an image elsewhere."""
    outside = tmp_path / "outside.png"
    outside.write_bytes(png())
    (tmp_path / "album").mkdir()
    link = tmp_path / "album" / "link.png"
    link.symlink_to(outside)
    store = open_store(str(own_index))
    row = {**store.table.search().limit(1).to_arrow().to_pylist()[0], "content": "ab" * 16}
    row |= {"path": str(link), "folder": str(link.parent)}
    store.add(pa.Table.from_pylist([row], store.schema()))
    writer = TestClient(make_app(Library(store, embedder), Admission(), 1_000_000), HERE)
    assert writer.get(f"/api/images/{'ab' * 16}").status_code == 200
    assert writer.get(f"/api/images/{'ab' * 16}/image").status_code == 404


def test_captions_are_kept(writer: TestClient, own_index: Path, embedder: Embedder) -> None:
    identity = first(writer)
    written = writer.get(f"/api/images/{identity}").json()["written"]
    said = "It's Åsa's  ball 🎈; DROP TABLE images"
    answer = writer.put(f"/api/images/{identity}/caption", json={"caption": said})
    assert answer.json()["caption"] == said.replace("  ", " ") and answer.json()["edited"]
    again = TestClient(make_app(Library(open_store(str(own_index)), embedder), Admission(), 1_000_000), HERE)
    assert again.get(f"/api/images/{identity}").json()["caption"] == said.replace("  ", " ")
    found = again.get("/api/search", params={"words": "a red ball"}).json()["found"]
    assert {one["id"]: one["caption"] for one in found}[identity] == said.replace("  ", " ")
    assert first(again) == identity
    undone = again.put(f"/api/images/{identity}/caption", json={"caption": "  "}).json()
    assert not undone["edited"] and undone["caption"] == written
    assert again.put(f"/api/images/{'0' * 32}/caption", json={"caption": "x"}).status_code == 404
    for body in (b'{"caption": "\\ud800"}', b'{"caption": 3}', b"{", b"", b'{"caption": "%s"}' % (b"x" * 3000)):
        assert again.put(f"/api/images/{identity}/caption", content=body).status_code == 422
    huge = again.put(f"/api/images/{identity}/caption", content=b"x" * 100_000)
    assert huge.status_code == 413


def test_a_photo_is_told(reader: TestClient, served_world: Path) -> None:
    photo = served_world / "photos" / "blue-left.png"
    told = reader.post("/api/photos", files={"photo": photo.read_bytes()}).json()
    assert told["width"] == 96 and told["similar"][0]["name"] == "blue-left.png"
    assert told["similar"][0]["score"] == pytest.approx(1, abs=1e-3)
    for sentence in (told["plain"], told["apart"]):
        assert sentence["text"] == " ".join(word["word"] for word in sentence["words"])
        assert all((word["box"] is not None) == word["noun"] for word in sentence["words"])
        for left, top, right, bottom in (word["box"] for word in sentence["words"] if word["noun"]):
            assert 0 <= left < right <= 1 and 0 <= top < bottom <= 1
    assert any(word["noun"] for word in told["plain"]["words"])
    assert 0 < told["apart"]["found"] <= 1 and told["plain"]["found"] is None
    preview = base64.b64decode(told["preview"].removeprefix("data:image/jpeg;base64,"))
    assert Image.open(io.BytesIO(preview)).size == (96, 64)


def test_formats_and_orientation(reader: TestClient) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    for kind in ("JPEG", "GIF", "BMP", "TIFF", "WEBP"):
        written = io.BytesIO()
        Image.new("RGB", (60, 40), "red").save(written, kind, **({"exif": exif} if kind == "JPEG" else {}))
        told = reader.post("/api/photos", files={"photo": written.getvalue()}).json()
        assert (told["width"], told["height"]) == ((40, 60) if kind == "JPEG" else (60, 40))


def bomb() -> bytes:
    """A PNG whose header says 60,000 x 60,000."""
    header = b"IHDR" + (60_000).to_bytes(4, "big") * 2 + bytes((8, 2, 0, 0, 0))
    chunk = (13).to_bytes(4, "big") + header + zlib.crc32(header).to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n" + chunk + png()[33:]


SVG = b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "&b;&b;">]><svg xmlns="http://www.w3.org/2000/svg">&a;</svg>'


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", 415),
        (b"hello", 415),
        (SVG, 415),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", 415),
        (png()[:-60], 415),
        (png(2000, 20), 415),
        (png(1001, 1000), 413),
        (bomb(), 413),
        (b"\x89PNG" + b"x" * 400_000, 413),
    ],
)
def test_what_is_no_photo_is_refused(reader: TestClient, data: bytes, status: int) -> None:
    answer = reader.post("/api/photos", files={"photo": data})
    assert answer.status_code == status and "Traceback" not in answer.text and answer.json()["detail"]


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@given(st.sampled_from(["PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP"]), st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_broken_bytes_never_break_the_server(reader: TestClient, kind: str, data: st.DataObject) -> None:
    written = io.BytesIO()
    Image.new("RGB", (9, 7), "red").save(written, kind)
    mutated = bytearray(written.getvalue())
    for _ in range(data.draw(st.integers(1, 6))):
        mutated[data.draw(st.integers(0, len(mutated) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(mutated)))
    answer = reader.post("/api/photos", files={"photo": bytes(mutated[:cut])})
    assert answer.status_code in (200, 413, 415)


@given(st.text(max_size=40), st.text(max_size=10), st.text(max_size=10))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_answered(reader: TestClient, words: str, without: str, day: str) -> None:
    answer = reader.get("/api/search", params={"words": words, "without": without, "after": day})
    assert answer.status_code in (200, 400, 422)


def test_wrong_forms(reader: TestClient) -> None:
    assert reader.post("/api/photos").status_code == 422
    assert reader.post("/api/photos", files={"other": b"x"}).status_code == 422
    broken = {"content-type": "multipart/form-data; boundary=x"}
    assert reader.post("/api/photos", content=b"--y\r\n", headers=broken).status_code in (400, 422)
    assert reader.post("/api/photos", content=(b"x" for _ in range(400_000)), headers=broken).status_code in (400, 413)
    assert reader.get("/nowhere").status_code == 404


def test_many_at_once(reader: TestClient) -> None:
    def ask(number: int) -> int:
        if number % 8 == 0:
            return reader.post("/api/photos", files={"photo": png(colour=(number, 90, 90))}).status_code
        return reader.get("/api/search", params={"words": "a green ball"}).status_code

    with ThreadPoolExecutor(16) as clients:
        assert set(clients.map(ask, range(48))) == {200}


def test_the_description_names_every_route_and_the_page_is_there(reader: TestClient) -> None:
    paths = reader.get("/api/openapi.json").json()["paths"]
    assert {"/api/index", "/api/search", "/api/photos", "/api/pictures/{identity}/caption"} <= set(paths)
    page = reader.get("/")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "<script" in page.text and "http" not in page.text
    assert reader.get("/page.js").status_code == reader.get("/page.css").status_code == 200
