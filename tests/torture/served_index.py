"""A real server over a small index, in a child process that ends with its parent."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import shutil
import signal
import socket
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

TOKEN = "letmeinplease"
PIXELS, UPLOAD = 1_000_000, 300_000
MODULES = (
    "photo_world", "tellapart.serve.server", "tellapart.serve.app", "tellapart.search.photo_index",
    "tellapart.inference.matching", "tellapart.inference.captioning", "uvicorn", "fastapi", "torch._dynamo",
    "torch._inductor", "tellapart.training.train",
)  # fmt: skip


def make(folder: Path) -> None:
    """FOLDER/photos, /pack, /index, the runs /find (a matcher) and /tell (a captioner), and captions to score."""
    from photo_world import draw_photos
    from tellapart.cli.extract import ExtractOptions, extract
    from tellapart.cli.index import IndexOptions, index
    from tellapart.cli.prepare import PrepareOptions, prepare
    from torture.folder_worlds import CAPTIONER, MATCHER, train

    (folder / "r.json").write_text('{"1": ["a red dog", "one dog"], "2": ["a white cat", "the cat"]}')
    (folder / "c.json").write_text('{"1": "a red dog", "2": "a blue cat"}')
    draw_photos(folder / "photos")
    with contextlib.redirect_stdout(io.StringIO()):
        prepare(PrepareOptions(str(folder / "photos"), folder / "pack", min_count=1, nouns=False))
        extract(ExtractOptions(folder / "pack", kind="vector", progress=False))
        train(folder / "pack", folder / "find", "vse++", MATCHER)
        train(folder / "pack", folder / "tell", "neuraltalk2", CAPTIONER)
        runs = str(folder / "find"), str(folder / "tell")
        index(IndexOptions((folder / "photos",), str(folder / "index"), *runs, progress=False))


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    process: int
    port: int
    index: Path

    def request(self, data: bytes, seconds: float = 60.0) -> bytes:
        """The answer to raw bytes; empty where the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as client:
            with contextlib.suppress(ConnectionError):
                client.sendall(data)
            return read_all(client)

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return os.waitpid(self.process, os.WNOHANG)[0] == 0


def read_all(client: socket.socket) -> bytes:
    """What a server sends until it closes the connection."""
    answer = b""
    with contextlib.suppress(ConnectionError):
        while piece := client.recv(1 << 16):
            answer += piece
    return answer


def start(world: Path, scratch: Path, token: str = "", patience: float = 1.0) -> Running:
    """Serve a copy of the index; clients that are slower than `patience` seconds are disconnected."""
    index = Path(shutil.copytree(world / "index", Path(tempfile.mkdtemp(dir=scratch)) / "index"))
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    bound.listen(128)
    process = os.fork()
    if not process:
        try:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
            _serve(world, index, bound, token, patience)
        finally:
            os._exit(1)
    port = bound.getsockname()[1]
    bound.close()
    _wait(port, token)
    return Running(process, port, index)


def _serve(world: Path, index: Path, bound: socket.socket, token: str, patience: float) -> None:
    import uvicorn

    from tellapart.search.photo_index import open_index
    from tellapart.serve import timeouts
    from tellapart.serve.access import AccessRules
    from tellapart.serve.app import create_app
    from tellapart.serve.heaps import share_heaps

    share_heaps()
    timeouts.HEADER_SECONDS = timeouts.READ_SECONDS = patience
    hosts = frozenset() if token else frozenset(("localhost", "127.0.0.1", "[::1]"))
    rules = AccessRules(token, hosts, UPLOAD, patience)
    app = create_app(open_index(index, world / "find", world / "tell"), rules, PIXELS, 3)
    config = uvicorn.Config(app, http=timeouts.TimeoutProtocol, ws="none", lifespan="off", access_log=False,
                            log_level="warning", server_header=False)  # fmt: skip
    uvicorn.Server(config).run(sockets=[bound])


def _wait(port: int, token: str) -> None:
    """Until the server answers."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            client.sendall(get("/api/index", token))
            if client.recv(16).startswith(b"HTTP/1.1 200"):
                return
        time.sleep(0.05)
    raise TimeoutError("the server does not start")


def get(path: str, token: str = "", *headers: str) -> bytes:
    """A GET request after which the connection closes."""
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


def status_of(answer: bytes) -> int:
    """The status of an answer; 0 for none."""
    words = answer.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
