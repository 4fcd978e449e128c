"""The JSON API: search, photos by id, captions, uploads, and every request that must fail."""

import base64
import datetime
import io
import shutil
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import tellapart.serve.app
from tellapart.cli.index import IndexOptions, index
from tellapart.core.errors import InputError
from tellapart.search.filters import Filters
from tellapart.search.photo_index import PhotoIndex
from tellapart.search.table import FACTS
from tellapart.serve.access import AccessRules
from tellapart.serve.app import create_app
from tellapart.serve.library import PhotoLibrary

OpenPhotos = Callable[[Path], PhotoIndex]
HERE = "http://127.0.0.1"


@pytest.fixture(scope="module")
def reader(served_world: Path, open_photos: OpenPhotos) -> Iterator[TestClient]:
    """A client of the shared index that only reads. An exception in a route fails the test."""
    index = open_photos(served_world / "index")
    rules = AccessRules(hosts=frozenset({"127.0.0.1"}), upload_bytes=300_000)
    with TestClient(create_app(index, rules, 1_000_000), HERE) as client:  # one event loop, as a server has
        yield client


@pytest.fixture
def writer(own_index: Path, open_photos: OpenPhotos) -> TestClient:
    return TestClient(create_app(open_photos(own_index), max_upload_pixels=1_000_000), HERE)


def png(width: int = 96, height: int = 64, colour: tuple[int, int, int] = (220, 30, 30)) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(written, "PNG")
    return written.getvalue()


def first(client: TestClient, words: str = "a red ball") -> str:
    return client.get("/api/search", params={"query": words}).json()["photos"][0]["id"]


def test_search_names_unknown_words_and_filters(reader: TestClient, writer: TestClient) -> None:
    found = reader.get("/api/search", params={"query": "a rde ball", "count": 3}).json()
    assert found["unknown"][0]["word"] == "rde" and "red" in found["unknown"][0]["suggestions"]
    assert found["corrected"] == "a red ball" and found["calibrated"] is False
    known = reader.get("/api/search", params={"query": "a red ball"}).json()
    assert known["unknown"] == [] and known["corrected"] is None
    assert not any(one["weak"] or one["probability"] for one in known["photos"])
    choices = reader.get("/api/filters").json()
    assert choices == {"folders": ["photos"], "cameras": [], "first": None, "last": None, "places": False}
    for name, value, count in (
        ("folder", "photos", 12), ("folder", "photos/none", 0), ("camera", "canon", 0), ("place", "48,16", 0),
        ("orientation", "landscape", 12), ("orientation", "portrait", 0),
    ):  # fmt: skip
        photos = reader.get("/api/search", params={"query": "a ball", name: value, "count": 50}).json()["photos"]
        assert len(photos) == count, (name, value)
    for name, value in (("folder", "elsewhere"), ("folder", "photos/../secret"), ("place", "vienna")):
        wrong = reader.get("/api/search", params={"query": "a ball", name: value})
        assert wrong.status_code == 400 and f"`{name}`" in wrong.json()["detail"], wrong.text

    photo = writer.get("/api/search", params={"query": "a blue ball"}).json()["photos"][-1]
    writer.put(f"/api/photos/{photo['id']}/caption", json={"caption": "Whiskers, our grumpy calico"})
    first = writer.get("/api/search", params={"query": "whiskers"}).json()
    assert first["photos"][0]["id"] == photo["id"] and first["photos"][0]["by_caption"] and first["unknown"] == []


def test_search(reader: TestClient) -> None:
    info = reader.get("/api/index").json()
    assert datetime.datetime.fromisoformat(info.pop("indexed")) <= datetime.datetime.now(datetime.UTC)
    assert info == {
        "photos": 12, "captions": True, "attention": True, "max_upload_bytes": 300_000, "max_upload_pixels": 1_000_000,
        "skipped": 0, "indexing": None, "originals": False,
    }  # fmt: skip
    found = reader.get("/api/search", params={"query": "a red ball", "count": 3}).json()["photos"]
    assert len(found) == 3 and found[0]["score"] >= found[1]["score"]
    assert found[0]["name"].endswith(".png") and found[0]["caption"] and "/" not in str(found[0])
    assert reader.get("/api/search", params={"query": "ball", "after": "2000-01-01"}).json()["photos"] == []
    assert len(reader.get("/api/search", params={"query": "ball", "without": "red"}).json()["photos"]) == 12
    for params, status in (({"query": "xyzzy"}, 400), ({}, 400), ({"query": "ball", "count": 0}, 422)):
        answer = reader.get("/api/search", params=params)
        assert answer.status_code == status and isinstance(answer.json()["detail"], str)
    assert answer.json()["detail"] == "`count` should be greater than or equal to 1."


@pytest.mark.parametrize("address", ["/api/search?query=ball&", "/api/photos/{id}/similar?"])
def test_ranked_photos_go_on_after_an_offset(reader: TestClient, address: str) -> None:
    address = address.format(id=first(reader))
    whole = reader.get(f"{address}count=12").json()["photos"]
    parts = [reader.get(f"{address}count=4&offset={offset}").json()["photos"] for offset in (0, 4, 8, 12)]
    assert [photo["id"] for part in parts for photo in part] == [photo["id"] for photo in whole] and len(whole) >= 11
    assert reader.get(f"{address}offset=5001").status_code == reader.get(f"{address}offset=-1").status_code == 422


def test_newest_photos(own_index: Path, open_photos: OpenPhotos) -> None:
    """By the date they were taken; photos without a date follow, by the date of their file."""
    index = open_photos(own_index)
    store = index.store
    names = [row["path"] for row in store.rows(["path"])]
    store.put_columns([{"path": names[7], "taken": datetime.datetime(2019, 7, 1)},
                       {"path": names[3], "taken": datetime.datetime(2019, 7, 2)}])  # fmt: skip
    client = TestClient(create_app(index), HERE)
    photos = client.get("/api/photos", params={"count": 5}).json()["photos"]
    assert [photo["name"] for photo in photos[:2]] == [Path(names[3]).name, Path(names[7]).name]
    assert len(photos) == 5 and photos[0]["taken"] == "2019-07-02T00:00:00" and photos[2]["score"] is None
    client.put(f"/api/photos/{photos[0]['id']}/caption", json={"caption": "new"})
    assert client.get("/api/photos").json()["photos"][0]["caption"] == "new"


def test_copies_of_one_photo_do_not_hide_the_others(
    served_world: Path, open_photos: OpenPhotos, tmp_path: Path
) -> None:
    photos = Path(shutil.copytree(served_world / "photos", tmp_path / "photos"))
    for number in range(30):
        shutil.copy(photos / "red-left.png", photos / f"copy-{number}.png")
    matcher = str(served_world / "find")
    index(IndexOptions((photos,), str(tmp_path / "index"), matcher, "none", progress=False))
    library = PhotoLibrary(open_photos(tmp_path / "index"))
    assert len(library.search("a red ball", "", 8, Filters())) == 8
    assert len(library.nearest(library.embedder.embed_image(photos / "red-left.png"), 20)) == 12


def test_photos_by_id(reader: TestClient, served_world: Path) -> None:
    photo_id = first(reader)
    image = reader.get(f"/api/photos/{photo_id}").json()
    assert image["folder"] == "photos" and image["id"] == photo_id and image["width"] == 96 and not image["edited"]
    answer = reader.get(f"/api/photos/{photo_id}/image", params={"size": "large"})
    shown = np.asarray(Image.open(io.BytesIO(answer.content)), np.float32)
    with Image.open(served_world / "photos" / image["name"]) as drawn:
        expected = np.asarray(drawn.convert("RGB"), np.float32)
    assert answer.headers["content-type"] == "image/jpeg" and np.abs(shown - expected).mean() < 10
    similar = reader.get(f"/api/photos/{photo_id}/similar", params={"count": 4}).json()["photos"]
    assert len(similar) == 4 and photo_id not in {one["id"] for one in similar}


@pytest.mark.parametrize(
    "asked",
    ["0" * 32, "..%2f..%2fsecret.txt", "%2e%2e/secret.txt", "' OR '1'='1", "secret.txt", "%00", "a" * 5000],
)
def test_no_other_file_is_read(reader: TestClient, asked: str) -> None:
    for tail in ("", "/image", "/similar"):
        answer = reader.get(f"/api/photos/{asked}{tail}")
        assert answer.status_code in (404, 422) and "confidential" not in answer.text


def test_links_out_of_the_folder_are_not_followed(own_index: Path, open_photos: OpenPhotos, tmp_path: Path) -> None:
    """A row whose file has become a link to an image outside of the indexed folder."""
    outside = tmp_path / "outside.png"
    outside.write_bytes(png())
    (tmp_path / "album").mkdir()
    link = tmp_path / "album" / "link.png"
    link.symlink_to(outside)
    index = open_photos(own_index)
    store = index.store
    row = {**next(store.rows([*FACTS, "vector"])), "content": "ab" * 16}
    store.write([{**row, "path": str(link), "folder": str(link.parent)}], [], {})
    writer = TestClient(create_app(index), HERE)
    assert writer.get(f"/api/photos/{'ab' * 16}").status_code == 200
    assert writer.get(f"/api/photos/{'ab' * 16}/image").status_code == 404


def test_edited_captions_are_stored(writer: TestClient, own_index: Path, open_photos: OpenPhotos) -> None:
    photo_id = first(writer)
    generated = writer.get(f"/api/photos/{photo_id}").json()["generated_caption"]
    text = "It's Åsa's  ball 🎈; DROP TABLE images"
    answer = writer.put(f"/api/photos/{photo_id}/caption", json={"caption": text})
    assert answer.json()["caption"] == text.replace("  ", " ") and answer.json()["edited"]
    again = TestClient(create_app(open_photos(own_index), max_upload_pixels=1_000_000), HERE)
    assert again.get(f"/api/photos/{photo_id}").json()["caption"] == text.replace("  ", " ")
    found = again.get("/api/search", params={"query": "a red ball"}).json()["photos"]
    assert {one["id"]: one["caption"] for one in found}[photo_id] == text.replace("  ", " ")
    assert first(again) == photo_id
    undone = again.put(f"/api/photos/{photo_id}/caption", json={"caption": "  "}).json()
    assert not undone["edited"] and undone["caption"] == generated
    assert again.put(f"/api/photos/{'0' * 32}/caption", json={"caption": "x"}).status_code == 404
    for body in (b'{"caption": "\\ud800"}', b'{"caption": 3}', b"{", b"", b'{"caption": "%s"}' % (b"x" * 3000)):
        assert again.put(f"/api/photos/{photo_id}/caption", content=body).status_code == 422
    huge = again.put(f"/api/photos/{photo_id}/caption", content=b"x" * 100_000)
    assert huge.status_code == 413


def test_describe(reader: TestClient, served_world: Path) -> None:
    photo = served_world / "photos" / "blue-left.png"
    described = reader.post("/api/describe", files={"photo": photo.read_bytes()}).json()
    assert described["width"] == 96 and described["similar"][0]["name"] == "blue-left.png"
    assert described["similar"][0]["score"] == pytest.approx(1, abs=1e-3)
    for caption in (described["caption"], described["distinctive_caption"]):
        assert caption["text"] == " ".join(word["text"] for word in caption["words"])
        assert all((word["box"] is not None) == word["noun"] for word in caption["words"])
        for left, top, right, bottom in (word["box"] for word in caption["words"] if word["noun"]):
            assert 0 <= left < right <= 1 and 0 <= top < bottom <= 1
        for grid in (word["attention"] for word in caption["words"] if word["noun"]):
            assert np.shape(grid) == (14, 14) and np.max(grid) == 1 and np.min(grid) >= 0
    assert any(word["noun"] for word in described["caption"]["words"])
    assert 0 < described["distinctive_caption"]["posterior"] <= 1
    assert described["caption"]["posterior"] is None and described["caption"]["distinct"] is None
    apart = described["distinctive_caption"]
    assert apart["distinct"] == (not apart["confused_with"])
    assert apart["distinct"] or apart["text"] == described["caption"]["text"]
    others = {one["id"] for one in described["similar"][1:]}
    assert all(set(one["photos"]) <= others and one["photos"] for one in apart["differences"])
    preview = base64.b64decode(described["preview"].removeprefix("data:image/jpeg;base64,"))
    assert Image.open(io.BytesIO(preview)).size == (96, 64)


def test_an_index_is_something_to_compare_with(served_world: Path) -> None:
    """The photos of an index need not be read again: the same captions as against their folder."""
    from tellapart.cli.caption import CaptionOptions, caption

    photos, matcher = (str(served_world / "photos" / "blue-*.png"),), str(served_world / "find")
    asked = {"captioner": str(served_world / "tell"), "matcher": matcher, "quiet": True, "neighbours": 4}
    folder = caption(CaptionOptions(photos, against=served_world / "photos", **asked))  # type: ignore[arg-type]
    index = caption(CaptionOptions(photos, against=served_world / "index", **asked))  # type: ignore[arg-type]
    for one, other in zip(folder.captions, index.captions, strict=True):
        assert one.caption.text == other.caption.text
        near, known = ({Path(str(name)).name for name in some.caption.neighbours} for some in (one, other))
        assert near == known and one.photo.name not in known
    with pytest.raises(InputError, match="another matcher"):
        caption(CaptionOptions(photos, against=served_world / "index", **(asked | {"matcher": None})))  # type: ignore[arg-type]


def test_formats_and_orientation(reader: TestClient) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    for kind in ("JPEG", "GIF", "BMP", "TIFF", "WEBP"):
        written = io.BytesIO()
        Image.new("RGB", (60, 40), "red").save(written, kind, **({"exif": exif} if kind == "JPEG" else {}))
        described = reader.post("/api/describe", files={"photo": written.getvalue()}).json()
        assert (described["width"], described["height"]) == ((40, 60) if kind == "JPEG" else (60, 40))


def bomb() -> bytes:
    """A PNG whose header claims 60,000 x 60,000 pixels."""
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
def test_other_files_are_rejected(reader: TestClient, data: bytes, status: int) -> None:
    answer = reader.post("/api/describe", files={"photo": data})
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
    answer = reader.post("/api/describe", files={"photo": bytes(mutated[:cut])})
    assert answer.status_code in (200, 413, 415)


@given(st.text(max_size=40), st.text(max_size=10), st.text(max_size=10))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_answered(reader: TestClient, words: str, without: str, day: str) -> None:
    answer = reader.get("/api/search", params={"query": words, "without": without, "after": day})
    assert answer.status_code in (200, 400, 422)


def test_wrong_forms(reader: TestClient) -> None:
    missing = reader.post("/api/describe")
    assert missing.status_code == 422 and missing.json()["detail"] == "`photo` is missing."
    assert reader.post("/api/describe", files={"other": b"x"}).status_code == 422
    broken = {"content-type": "multipart/form-data; boundary=x"}
    assert reader.post("/api/describe", content=b"--y\r\n", headers=broken).status_code in (400, 422)
    assert reader.post("/api/describe", content=(b"x" for _ in range(400_000)), headers=broken).status_code in (
        400,
        413,
    )
    nowhere = reader.get("/nowhere")
    assert nowhere.status_code == 404 and nowhere.json()["detail"] == "This address does not exist."


def test_many_at_once(reader: TestClient) -> None:
    def ask(number: int) -> int:
        if number % 8 == 0:
            return reader.post("/api/describe", files={"photo": png(colour=(number, 90, 90))}).status_code
        return reader.get("/api/search", params={"query": "a green ball"}).status_code

    with ThreadPoolExecutor(16) as clients:
        assert set(clients.map(ask, range(48))) == {200}


def test_openapi_and_page(reader: TestClient) -> None:
    paths = reader.get("/api/openapi.json").json()["paths"]
    assert {"/api/index", "/api/search", "/api/describe", "/api/photos/{id}/caption"} <= set(paths)
    page = reader.get("/")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "<script" in page.text and "http" not in page.text
    names = [
        path.name for path in (Path(tellapart.serve.app.__file__).parent / "page").iterdir() if path.suffix != ".html"
    ]
    assert len(names) >= 3 and {reader.get(f"/{name}").status_code for name in names} == {200}
