"""Size and start of an installed wheel: `python -m benchmarks.install dist/*.whl [--beside rclip]`.

The wheel is installed with the extra `serve` into a new environment. There it captions, indexes and searches
drawn photos, serves the page to a program, and searches 4,000 rows made from them. Printed: the megabytes of each
large package, and wall and processor seconds of every command.
`--beside NAME` installs a package from the index and prints its size and import time, without running it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

LARGE = 5
"""Megabytes from which a package is printed by itself."""
MOST, WHEEL = 400, 90
"""Megabytes of the light install and of the wheel."""


@dataclass(frozen=True)
class Environment:
    """A new virtual environment."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"

    def install(self, *what: str) -> None:
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", self.folder], check=True)
        subprocess.run([self.python, "-m", "pip", "install", "--quiet", *what], check=True, env=_clean())

    def packages(self) -> dict[str, float]:
        """Megabytes of each package, without pip and setuptools."""
        site = next(self.folder.glob("lib/python*/site-packages"), self.folder / "Lib" / "site-packages")
        sizes: dict[str, float] = {}
        for path in site.iterdir():
            name = path.name.split(".")[0].split("-")[0].lower()
            if name not in ("pip", "setuptools", "pkg_resources", "_distutils_hack"):
                sizes[name] = sizes.get(name, 0) + _megabytes(path)
        return sizes

    def timed(self, *command: str, folder: Path) -> tuple[float, float]:
        """Wall and processor seconds of a command that must succeed."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        before, started = used.ru_utime + used.ru_stime, time.perf_counter()
        subprocess.run([self.python, *command], check=True, cwd=folder, env=_clean(), stdout=subprocess.DEVNULL)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.perf_counter() - started, used.ru_utime + used.ru_stime - before


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def _megabytes(path: Path) -> float:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6


DRAW = """
from PIL import Image
for number, colour in enumerate(("red", "green", "blue", "white")):
    Image.new("RGB", (640, 480), colour).save(f"{number}.jpg")
"""
CHECK = """
import importlib.util as u
assert u.find_spec("torch") is None, "torch is installed"
import tellapart as ta
assert ta.score([["A dog is running.", "The dog runs"]], ["A dog runs."])["CIDEr"] >= 0
"""
GROW = """
import sys
import numpy as np
from tellapart.search.store import open_store
from tellapart.search.table import FACTS
store, random = open_store(sys.argv[1]), np.random.default_rng(0)
rows, more = list(store.rows([*FACTS, "vector"])), []
for number in range(4000 - len(rows)):
    vector = rows[number % len(rows)]["vector"] + 0.05 * random.standard_normal(store.about.width)
    facts = {"path": f"/{number}.jpg", "content": f"{number:032x}", "vector": vector / np.linalg.norm(vector)}
    more.append({**rows[number % len(rows)], **facts})
store.write(more, [], {})
"""
SERVE = """
import json
import subprocess
import sys
import urllib.request
from pathlib import Path

def answer(path, data=None, kind=""):
    request = urllib.request.Request(address + path, data, {"content-type": kind} if kind else {})
    with urllib.request.urlopen(request, timeout=60) as found:
        return found.read()

command = [sys.executable, "-m", "tellapart", "serve", sys.argv[1], "--port", "0"]
server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
try:
    address = server.stdout.readline().split(" at ")[1].strip().rstrip("/")
    assert b"<html" in answer("/")
    assert "photos" in json.loads(answer("/api/search?query=wall"))
    photo = next(one for one in json.loads(answer("/api/photos"))["photos"] if one["name"] == "0.jpg")
    assert answer(f"/api/photos/{photo['id']}/image")[:2] == b"\\xff\\xd8"
    head = b'--part\\r\\ncontent-disposition: form-data; name="photo"; filename="0.jpg"\\r\\n\\r\\n'
    body = head + Path(sys.argv[2]).read_bytes() + b"\\r\\n--part--\\r\\n"
    described = json.loads(answer("/api/describe", body, "multipart/form-data; boundary=part"))
    assert described["caption"]["text"]
finally:
    server.terminate()
    server.wait()
"""


def light(wheel: Path, folder: Path) -> None:
    """Install the wheel and print what it takes."""
    print(f"wheel: {_megabytes(wheel):.0f} MB")
    assert _megabytes(wheel) < WHEEL
    environment = Environment(folder / "light")
    environment.install(f"{wheel.resolve()}[serve]")
    _print_sizes("tellapart[serve]", environment.packages())
    photos = folder / "photos"
    photos.mkdir()
    environment.timed("-c", DRAW, folder=photos)
    environment.timed("-c", CHECK, folder=folder)
    index = str(folder / "photos.index")
    run = ("-m", "tellapart")
    commands = {
        "import tellapart": ("-c", "import tellapart"),
        "caption 4 photos": (*run, "caption", str(photos), "--quiet"),
        "index 4 photos": (*run, "index", str(photos), "--out", index, "--no-progress"),
        "open the page, search, describe a photo": ("-c", SERVE, index, str(photos / "0.jpg")),
        "grow the index to 4,000 rows": ("-c", GROW, index),
        "search 4,000 photos, first": (*run, "search", index, "a red wall", "--everything"),
        "search 4,000 photos, second": (*run, "search", index, "a red wall", "--everything"),
    }
    for name, command in commands.items():
        wall, used = environment.timed(*command, folder=folder)
        print(f"{name}: {wall:.2f} s, {used:.2f} s of processor time")
    total = sum(environment.packages().values())
    assert total <= MOST, f"{total:.0f} MB are installed"


def beside(name: str, folder: Path) -> None:
    """Install another package and print its size and import time."""
    environment = Environment(folder / name)
    environment.install(name)
    _print_sizes(name, environment.packages())
    wall, used = min(environment.timed("-c", f"import {name}.main", folder=folder) for _ in range(3))
    print(f"import {name}.main: {wall:.2f} s, {used:.2f} s of processor time")


def _print_sizes(title: str, packages: dict[str, float]) -> None:
    print(f"\n{title}: {sum(packages.values()):.0f} MB in {len(packages)} folders and files")
    for name, size in sorted(packages.items(), key=lambda item: -item[1]):
        if size >= LARGE:
            print(f"  {size:4.0f} MB  {name}")


def main(device: str = "cpu") -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path, nargs="?", help="default: the newest in dist/")
    parser.add_argument("--beside", default="", help="another package, to compare with")
    options, _ = parser.parse_known_args()
    wheel = options.wheel or max(Path("dist").glob("*.whl"), default=None, key=lambda path: path.stat().st_mtime)
    if wheel is None or wheel.suffix != ".whl":
        print("no wheel in dist/; run `make dist`")
        return
    with tempfile.TemporaryDirectory(prefix="tellapart-install-") as folder:
        light(wheel, Path(folder))
        if options.beside:
            beside(options.beside, Path(folder))


if __name__ == "__main__":
    main()
