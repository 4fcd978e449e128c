"""The image of the `Dockerfile`: built, started and used. Printed: its size, and how long it takes to start.

`python -m benchmarks.container [--engine podman]`. In the container, drawn photos are indexed, the page is served, and
its health check is repeated until it passes; then a program opens the page, searches, uploads a photo and stops the
server. Root is checked for. `--build` and `--run` take more options of the engine, such as `--build "--network host"`.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from benchmarks.light import drawn

SOURCE = Path(__file__).resolve().parents[1]
NAME = "tellapart-benchmark"
PORT, PHOTOS = 8000, 24
HEALTHY_WITHIN = 60
"""Seconds."""


@dataclass(frozen=True)
class Engine:
    """Docker, or a program with the same commands."""

    program: str
    run_options: tuple[str, ...] = ()

    def __call__(self, *command: str, check: bool = True) -> str:
        done = subprocess.run([self.program, *command], capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise RuntimeError(f"{self.program} {command[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout.strip()

    def works(self) -> bool:
        """Whether it answers."""
        return subprocess.run([self.program, "info"], capture_output=True, check=False).returncode == 0

    def build(self, options: tuple[str, ...]) -> None:
        # Images in the OCI format, podman's default, have no health check.
        form = () if Path(self.program).name == "docker" else ("--format", "docker")
        self("build", *form, *options, "--tag", NAME, str(SOURCE))

    def run(self, photos: Path, *command: str, options: tuple[str, ...] = ("--rm",)) -> str:
        mounts = ("--volume", f"{photos}:/photos:ro", "--volume", f"{NAME}:/data")
        return self("run", *options, *mounts, *self.run_options, NAME, *command)

    def healthy(self, test: list[str]) -> bool:
        """Whether the health check passes now."""
        command = [self.program, "exec", NAME, *test]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def clean(self) -> None:
        self("rm", "--force", NAME, check=False)
        self("volume", "rm", "--force", NAME, check=False)


def main(device: str = "cpu") -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", default="", help="docker, podman; default: the first that is installed")
    parser.add_argument("--build", default="", help="more options to build with")
    parser.add_argument("--run", default="", help="more options to run with; default: the page's port is published")
    options, _ = parser.parse_known_args()
    program = options.engine or next((name for name in ("docker", "podman") if shutil.which(name)), "")
    publish = f"--publish 127.0.0.1:{PORT}:{PORT}"
    engine = Engine(program, tuple(shlex.split(options.run or publish)))
    if not program or not engine.works():
        print("no container engine answers; start Docker, or install podman")
        return
    with tempfile.TemporaryDirectory(prefix="tellapart-container-") as folder:
        Path(folder).chmod(0o755)  # the container's user reads it
        drawn(Path(folder), PHOTOS)
        before = time.perf_counter()
        engine.build(tuple(shlex.split(options.build)))
        print(f"built in {time.perf_counter() - before:.0f} s")
        engine.clean()
        try:
            use(engine, Path(folder))
        finally:
            engine.clean()


def use(engine: Engine, photos: Path) -> None:
    """Index photos, serve them, and print sizes and times."""
    size = int(engine("image", "inspect", "--format", "{{.Size}}", NAME)) / 1e6
    installed = engine.run(photos, "-sm", "/opt/tellapart", options=("--rm", "--entrypoint", "du")).split()[0]
    print(f"image: {size:.0f} MB, of which Tellapart and its packages {installed} MiB")
    before = time.perf_counter()
    print(engine.run(photos, "index", "/photos", "--out", "/data/photos.index", "--no-progress"))
    print(f"index: {time.perf_counter() - before:.1f} s for {PHOTOS} photos, with the start of the container")
    test = json.loads(engine("image", "inspect", "--format", "{{json .Config.Healthcheck.Test}}", NAME))
    before = time.perf_counter()
    engine.run(photos, options=("--detach", "--name", NAME))
    while not engine.healthy(test[1:]):
        if time.perf_counter() - before > HEALTHY_WITHIN:
            raise RuntimeError(f"not healthy after {HEALTHY_WITHIN} s: {engine('logs', NAME)}")
        time.sleep(0.1)
    print(f"healthy {time.perf_counter() - before:.1f} s after its start")
    user = engine("exec", NAME, "id", "-u")
    if user == "0":
        raise RuntimeError("the server runs as root")
    memory = engine("exec", NAME, "grep", "VmHWM", "/proc/1/status").split()[1]
    print(f"user {user}, at most {int(memory) // 1024} MB of memory before the first request")
    visit(engine("logs", NAME), photos / "0.jpg")
    before = time.perf_counter()
    engine("stop", NAME)
    code = engine("inspect", "--format", "{{.State.ExitCode}}", NAME)
    print(f"stopped in {time.perf_counter() - before:.1f} s with status {code}")


def visit(logs: str, photo: Path) -> None:
    """Open the page, search, and upload a photo."""
    found = re.search(r"token=(\w+)", logs)
    if found is None:
        raise RuntimeError(f"no token was printed: {logs}")

    def answer(path: str, data: bytes | None = None, kind: str = "application/json", token: str = found[1]) -> bytes:
        headers = {"content-type": kind, **({"authorization": f"Bearer {token}"} if token else {})}
        request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            return bytes(response.read())

    try:
        answer("/", token="")
        raise RuntimeError("the page opens without a token")
    except urllib.error.HTTPError as error:
        print(f"without the token the page answers {error.code}")
    if b"<html" not in answer("/"):
        raise RuntimeError("the page is not HTML")
    listed = json.loads(answer("/api/photos"))["photos"]
    image = answer(f"/api/photos/{listed[0]['id']}/image")
    json.loads(answer("/api/search?query=wall"))
    head = b'--part\r\ncontent-disposition: form-data; name="photo"; filename="0.jpg"\r\n\r\n'
    body = head + photo.read_bytes() + b"\r\n--part--\r\n"
    before = time.perf_counter()
    described = json.loads(answer("/api/describe", body, "multipart/form-data; boundary=part"))["caption"]["text"]
    spent = time.perf_counter() - before
    print(f"page open: {len(listed)} photos, an image of {len(image):,} bytes; '{described}' after {spent:.1f} s")


if __name__ == "__main__":
    main()
