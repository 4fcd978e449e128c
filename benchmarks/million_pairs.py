"""A synthetic million of pairs through `prepare --stream` and into batches: pairs per second, and peak memory.

Shards are tar files of tiny images with one caption each, written here. Each step runs in its own process, so that its
peak is its own. `python -m benchmarks million_pairs` takes about ten minutes and 3 GB of disk; TELLAPART_PAIRS=20000
makes it short.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np

PER_SHARD = 10_000
WORDS = ("red", "green", "blue", "dog", "cat", "bus", "street", "grass", "two", "man", "rides", "small", "old", "wet")
STEPS = {
    "prepare --stream": "from tellapart.data.prepare import prepare_pack\n"
    "pack = prepare_pack('shards', 'pack', stream=True, store_side=16)\n",
    "open, and 100 batches of 128 in random order": "from tellapart.data.batches import Batches\n"
    "from tellapart.data.pack import Pack\nfrom tellapart.data.sampling import Sampling, draw_epoch\n"
    "from tellapart.data.views import Views\npack = Pack('pack')\n"
    "batches = Batches(pack, None, views=Views(pixels=16, squash=True))\n"
    "draws = draw_epoch(pack, Sampling(batch=128), (0, 0, 0))\n"
    "for draw in draws[:100]:\n    batches.batch(draw.captions)\n",
}
MEASURED = """
import resource, time
started = time.process_time()
{code}
print(time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def write_shards(folder: Path, pairs: int, seed: int = 0) -> None:
    """Tar files of images of 8 x 8 pixels with a caption of eight words."""
    from PIL import Image

    random = np.random.default_rng(seed)
    images = []
    for colour in random.integers(0, 255, (256, 3)):
        file = io.BytesIO()
        Image.new("RGB", (8, 8), tuple(colour.tolist())).save(file, "PNG")
        images.append(file.getvalue())
    folder.mkdir(parents=True)
    for shard in range(-(-pairs // PER_SHARD)):
        with tarfile.open(folder / f"{shard:05d}.tar", "w") as tar:
            for number in range(shard * PER_SHARD, min(pairs, (shard + 1) * PER_SHARD)):
                words = " ".join(WORDS[row] for row in random.integers(0, len(WORDS), 8))
                for name, data in ((f"{number:09d}.png", images[number % 256]), (f"{number:09d}.txt", words.encode())):
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))


def main(device: str = "cpu") -> None:
    pairs = int(os.environ.get("TELLAPART_PAIRS", "1000000"))
    with tempfile.TemporaryDirectory(dir=os.environ.get("TELLAPART_SCRATCH")) as folder:
        started = time.process_time()
        write_shards(Path(folder) / "shards", pairs)
        print(f"{pairs:,} pairs in shards after {time.process_time() - started:.0f} s of CPU time", flush=True)
        for name, code in STEPS.items():
            command = [sys.executable, "-c", MEASURED.format(code=code)]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
            seconds, memory = map(float, done.stdout.split()[-2:])
            count = pairs if name.startswith("prepare") else 12_800
            print(f"{name}: {count / seconds:,.0f} pairs per second of CPU time, peak {memory:,.0f} MiB", flush=True)
