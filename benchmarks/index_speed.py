"""Photos per second of `index` and `caption` as a whole, with torch and without.

`python -m benchmarks index_speed`, or with photos of your own: `python -m benchmarks.index_speed --photos FOLDER`.
`index` walks a folder, hashes, reads EXIF, decodes, encodes, captions and writes. torch computes in float32, and in
bfloat16 (its default on CPUs with instructions for it); without torch the precision is int8 where products of 8 bits
are exact. All use every core and default settings, and open the models before the clock starts. In each round every way
takes the same photos in turns; the next round takes other photos, so that no caption is remembered. The ratio is taken
within each round, between neighbours in time, so that the load of other programs affects both alike. Then follows the
processor time of all cores.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.light import drawn
from tellapart.images.folders import find_some_photos
from tellapart.inference import captioning, matching
from tellapart.inference.captioning import PhotoCaptioner
from tellapart.inference.light.captioning import LightCaptioner
from tellapart.inference.light.matching import LightMatcher
from tellapart.inference.loading import load_captioner, load_matcher
from tellapart.inference.matching import PhotoMatcher
from tellapart.search.photo_index import PhotoIndex

LIGHT = "without torch"
ROUNDS = 4


class Way:
    """Two opened models."""

    def __init__(self, matcher: PhotoMatcher | LightMatcher, captioner: PhotoCaptioner | LightCaptioner) -> None:
        self.matcher, self.captioner = matcher, captioner

    def index(self, folder: Path) -> None:
        """Make an index of a folder."""
        with tempfile.TemporaryDirectory() as out:
            changes = PhotoIndex(f"{out}/photos.index", self.matcher, self.captioner).update([folder])
        if changes.faults:
            raise RuntimeError(f"{len(changes.faults)} photos were not indexed: {changes.faults[0]}")

    def caption(self, folder: Path) -> None:
        """Caption the photos of a folder."""
        self.captioner.caption(sorted(folder.iterdir()))


def by_torch(precision: str) -> Way:
    """What `index` and `caption` did before they could do without torch."""
    captioner = captioning.load_captioner("bundled", "cpu", 0, precision)
    return Way(matching.load_matcher("bundled", "cpu", 0, precision), captioner)


def copied(photos: list[Path], folder: Path) -> Path:
    """A folder with copies of some photos."""
    folder.mkdir()
    for number, photo in enumerate(photos):
        shutil.copyfile(photo, folder / f"{number}{photo.suffix}")
    return folder


def main(device: str = "cpu") -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, default=None)
    parser.add_argument("--count", type=int, default=192, help="photos per round")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder, total = Path(temporary), options.count * (options.rounds + 1)
        (folder / "drawn").mkdir()
        given = find_some_photos([options.photos]).photos if options.photos else drawn(folder / "drawn", total)
        photos = list(given)[:total]
        parts = [copied(photos[part :: options.rounds + 1], folder / str(part)) for part in range(options.rounds + 1)]
        ways = {f"torch in {precision}": by_torch(precision) for precision in ("float32", "bfloat16")}
        ways[LIGHT] = Way(load_matcher("bundled"), load_captioner("bundled"))
        print(f"{len(photos) // len(parts)} photos per round, {options.rounds} rounds, {os.cpu_count()} cores")
        for verb in ("index", "caption"):
            compare(verb, {name: getattr(way, verb) for name, way in ways.items()}, parts, len(photos) // len(parts))


def compare(verb: str, ways: dict[str, Callable[[Path], None]], parts: list[Path], each: int) -> None:
    """Print photos per second and processor time of each way, and the ratios; the first part warms up."""
    wall: dict[str, list[float]] = {name: [] for name in ways}
    processor: dict[str, list[float]] = {name: [] for name in ways}
    for turn, part in enumerate(parts):
        for name, work in ways.items():
            before = time.perf_counter(), time.process_time()
            work(part)
            if turn:
                wall[name].append(time.perf_counter() - before[0])
                processor[name].append(time.process_time() - before[1])
    for name, spent in wall.items():
        used = statistics.median(processor[name])
        line = (
            f"{verb}, {name}: {each / statistics.median(spent):.1f} photos per second, {1000 * used / each:.1f} ms each"
        )
        if name != LIGHT:
            ratios = sorted(other / own for other, own in zip(spent, wall[LIGHT]))
            line += (
                f"; without torch {statistics.median(ratios):.2f} times as fast ({ratios[0]:.2f} to {ratios[-1]:.2f})"
            )
            line += f", by processor time {used / statistics.median(processor[LIGHT]):.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
