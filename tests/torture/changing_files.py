"""Photos that another program writes while they are indexed: every row has the vector of the bytes it names."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import numpy as np

from torture.attacked_verbs import MODULES
from torture.campaign import Campaign, Case, check, number_of
from torture.children import finish, must_succeed, start

CASES, PHOTOS = 100, 24


def change(case: Case) -> None:
    """Index a folder while its photos are replaced, written in place, cut short, moved and deleted."""
    photos, index, versions = case.scratch / "photos", case.scratch / "index", case.scratch / "versions"
    photos.mkdir()
    versions.mkdir()
    draw = random.Random(f"{case.seed} changing {case.number}")
    for number in range(PHOTOS):
        _write(photos / f"{number}.png", draw, versions)
    log = case.scratch / "error.txt"
    writer = start(lambda: _disturb(photos, draw, versions), case.scratch / "writer.txt")
    must_succeed(lambda: _index(index, photos), log, "indexing changing files")
    finish(writer)
    must_succeed(lambda: _check(index, versions), log, "rows after indexing changing files")
    must_succeed(lambda: _index(index, photos), log, "indexing again")
    must_succeed(lambda: _check(index, versions, photos), log, "rows after indexing again")


def _write(path: Path, draw: random.Random, versions: Path, in_place: bool = False) -> None:
    """A photo of one colour, whose colour is kept under the hash of its bytes."""
    from PIL import Image

    from tellapart.images.verified_file import hash_of

    colour = tuple(draw.randrange(10, 250) for _ in range(3))
    partial = path.with_suffix(".new")
    Image.new("RGB", (40, 24), colour).save(partial, "PNG")
    data = partial.read_bytes()
    (versions / hash_of(data)).write_text(" ".join(map(str, colour)))
    if in_place:
        partial.unlink()
        path.write_bytes(data)
    else:
        os.replace(partial, path)


def _disturb(photos: Path, draw: random.Random, versions: Path) -> None:
    end = time.monotonic() + 0.6
    while time.monotonic() < end:
        path = photos / f"{draw.randrange(PHOTOS)}.png"
        kind = draw.randrange(6)
        if kind < 3 or not path.is_file():
            _write(path, draw, versions, in_place=kind == 1)
        elif kind == 3:
            os.truncate(path, draw.randrange(60))
        elif kind == 4:
            path.unlink()
        else:
            os.replace(path, photos / f"{draw.randrange(PHOTOS)}.png")
        time.sleep(0.002)
    for number in range(PHOTOS):
        _write(photos / f"{number}.png", draw, versions)


def _index(index: Path, photos: Path) -> None:
    from embeds_colours import Colours, fill

    fill(index, Colours(slow=0.005), photos, chunk=5)


def _check(index: Path, versions: Path, photos: Path | None = None) -> None:
    """Every row has the vector of the version whose hash it has; with `photos`, of the version that is there now."""
    from tellapart.search.file_facts import content_of
    from tellapart.search.store import open_store

    names = []
    for row in open_store(str(index)).rows(["path", "content", "vector"]):
        names.append(Path(row["path"]).name)
        version = versions / row["content"]
        check(version.is_file(), f"{names[-1]} has the hash of bytes that were never written")
        colour = np.asarray(version.read_text().split(), np.float32)
        wrong = np.abs(row["vector"] - colour / np.linalg.norm(colour)).max()
        check(wrong < 2e-3, f"{names[-1]} has a wrong vector")
        check(photos is None or content_of(Path(row["path"])) == row["content"], f"{names[-1]} is out of date")
    check(len(names) == len(set(names)), "a photo is in the index twice")
    if photos is not None:
        check(sorted(names) == sorted(path.name for path in photos.iterdir()), "photos are missing")


CHANGING_FILES = Campaign(run=change, count=number_of(CASES), sample=2, preload=MODULES, chunk=25)
