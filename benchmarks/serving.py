"""Fifty clients at a server for a minute, five of whom drop photos: described one by one, and together.

`python -m benchmarks.serving --seconds 60`. Prints the median and the longest wait for a dropped photo, a search and a
small image (see `_page_load`), with the bundled models over drawn photos. Server and clients share the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import multiprocessing
import os
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks._page_load import load
from benchmarks.light import drawn

PHOTOS, CLIENTS, WORDS = 24, 50, "a red ball"


def serve(index: str, together: int, light: bool, pipe: Connection) -> None:
    """In a process: a server that describes `together` dropped photos at once."""
    from tellapart.serve import routes
    from tellapart.serve.server import ServerSettings, open_server

    if not light:
        _use_torch()
    routes.TOGETHER = together
    server = open_server(index, ServerSettings(port=0))
    pipe.send(server.address)
    server.run()


def _use_torch() -> None:
    """Open the bundled models with torch, as on a computer without onnxruntime."""
    from tellapart.inference import captioning, matching
    from tellapart.search import photo_index

    photo_index.load_matcher = lambda run, device, *rest: matching.load_matcher(run, "cpu")  # type: ignore[assignment]
    photo_index.load_captioner = lambda run, device, *rest: captioning.load_captioner(run, "cpu")  # type: ignore[assignment]


def measure(index: Path, photo: Path, together: int, light: bool, seconds: float) -> None:
    """Print what clients wait for."""
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=serve, args=(str(index), together, light, theirs), daemon=True)
    process.start()
    address = ours.recv()
    try:
        time.sleep(1)  # until it listens
        print(f"-- {'without torch' if light else 'torch'}, at most {together} photos at once", flush=True)
        with contextlib.redirect_stdout(io.StringIO()):
            asyncio.run(load(address, photo.read_bytes(), WORDS, 1, 3))  # opens the models
        asyncio.run(load(address, photo.read_bytes(), WORDS, CLIENTS, seconds))
    finally:
        process.terminate()
        process.join()


def main(device: str = "cpu") -> None:
    from tellapart.cli.index import IndexOptions, index

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    options, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        photos = drawn(Path(folder), PHOTOS)
        where = Path(folder) / "index"
        with contextlib.redirect_stdout(io.StringIO()):
            index(IndexOptions((Path(folder),), str(where), progress=False))
        for light in (True, False):
            for together in (1, 8):
                measure(where, photos[0], together, light, options.seconds)


if __name__ == "__main__":
    main()
