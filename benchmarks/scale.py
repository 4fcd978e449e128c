"""Two workers against one: training steps by torchrun, with and without --shard, and indexing by Ray.

Training: a CLIP of random weights on drawn images, as transformers builds it; each process takes its share of every
batch. The bytes that a process holds of weights, gradients and moments are counted, not measured. Indexing: JPEG files
with the bundled matcher, without captions, by one thread, by two, and by two workers of Ray where Ray is installed.
Rounds alternate and the fastest counts, so that the load of other programs affects all alike.

`python -m benchmarks scale` takes some minutes on two cores; TELLAPART_PHOTOS=100 makes it short.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tellapart.images.verified_file import VerifiedFile
from tellapart.search.embedded import Embedded

ROUNDS, STEPS, BATCH = 2, 10, 64
SIZES = {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 6, "num_attention_heads": 4}
TRAIN = """
import json, os, sys, time
from pathlib import Path
import torch
from tellapart.core.distributed import group
from tellapart.papers.recipes import find_recipe
from tellapart.training import loop
from tellapart.training.settings import TrainSettings
from tellapart.training.sharded_tensors import own_part
from tellapart.training.train import train_recipe

step, ends, held = loop.training_step, [], {}

def timed(stage, learner, *rest):
    values = step(stage, learner, *rest)
    ends.append((time.monotonic(), time.process_time()))
    weights = [p for p in learner.objective.parameters()]
    states = [v for state in learner.optimiser.state.values() for v in state.values() if torch.is_tensor(v)]
    held["weights"] = sum(own_part(p).nbytes for p in weights)
    held["moments"] = sum(own_part(v).nbytes for v in states)
    return values

loop.training_step = timed
folder = Path(sys.argv[1])
sampling = (f"train.sampling.batch={sys.argv[3]}", f"train.sampling.steps={sys.argv[4]}")
changes = ("train.lora=none", "train.epochs=1", *sampling)
settings = TrainSettings(
    folder / "pack", Path(sys.argv[2]), start=f"hf:{folder / 'clip'}", set=changes, shard=len(sys.argv) > 5
)
train_recipe(find_recipe("clip-plain"), settings)
if group().is_main:
    (first, cpu), (last, spent) = ends[1], ends[-1]
    print(json.dumps({"step": (last - first) / (len(ends) - 2), "cpu": (spent - cpu) / (len(ends) - 2), **held}))
"""


def write_world(folder: Path, photos: int) -> None:
    """JPEG files, a pack of some of them with captions, and a CLIP."""
    from PIL import Image

    from tellapart.data.prepare import prepare_pack

    random = np.random.default_rng(0)
    (folder / "photos").mkdir()
    lines = ["image,caption,split"]
    for number in range(photos):
        image = Image.fromarray(random.integers(0, 255, (12, 16, 3), dtype=np.uint8))
        file = folder / "photos" / f"{number:05d}.jpg"
        image.resize((320, 240), Image.Resampling.BICUBIC).save(file, quality=90)
        if number < BATCH:
            lines.append(f"{file.name},a photo of number {number},{'val' if number < 8 else 'train'}")
    (folder / "captions.csv").write_text("\n".join(lines))
    from tellapart.data.readers.source import ReaderOptions

    options = ReaderOptions(images=folder / "photos")
    prepare_pack(folder / "captions.csv", folder / "pack", options=options, rules="ltd", nouns=False)
    write_clip(folder / "clip")


def write_clip(folder: Path) -> None:
    """A CLIP with random weights, letters as pieces, and squares of 64 pixels."""
    import transformers

    folder.mkdir()
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,"
    pieces = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({piece: row for row, piece in enumerate(pieces)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt")).save_pretrained(str(folder))
    ends = {"bos_token_id": len(pieces) - 2, "eos_token_id": len(pieces) - 1, "pad_token_id": len(pieces) - 1}
    text = {**SIZES, **ends, "vocab_size": len(pieces), "max_position_embeddings": 77}
    vision = {**SIZES, "image_size": 64, "patch_size": 16}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=256)
    transformers.CLIPModel(config).save_pretrained(str(folder))
    processor = {
        "image_processor_type": "CLIPImageProcessor", "do_resize": True, "size": {"shortest_edge": 64}, "resample": 3,
        "do_center_crop": True, "crop_size": {"height": 64, "width": 64}, "do_rescale": True, "do_normalize": True,
        "rescale_factor": 1 / 255, "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "do_convert_rgb": True,
    }  # fmt: skip
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))


def trained(folder: Path, name: str, processes: int, *options: str) -> dict[str, float]:
    """What the main process printed: seconds per step, and bytes."""
    (folder / "train.py").write_text(TRAIN)
    start = [sys.executable]
    if processes > 1:
        start += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    given = [str(folder / "train.py"), str(folder), str(folder / name), str(BATCH // 2), str(STEPS), *options]
    settings = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*start, *given], env=settings, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure_training(folder: Path) -> None:
    ways = {"one process": (1,), "two, torchrun": (2,), "two, torchrun, --shard": (2, "--shard")}
    best: dict[str, dict[str, float]] = {}
    for turn in range(ROUNDS):
        for place, (name, (processes, *options)) in enumerate(ways.items()):
            found = trained(folder, f"run-{turn}-{place}", processes, *options)
            if name not in best or found["step"] < best[name]["step"]:
                best[name] = found
    for name, found in best.items():
        pairs, mega = BATCH // 2 / found["step"], 1024**2
        print(
            f"{name}: {pairs:,.0f} pairs per second, {1000 * found['cpu']:,.0f} ms of processor time per step and "
            f"process; each process holds {found['weights'] / mega:.1f} MiB of weights and "
            f"{found['moments'] / mega:.1f} MiB of moments",
            flush=True,
        )


class Counted:
    """The bundled matcher without captions; writes the processor time of its process after each batch."""

    def __init__(self, file: Path, threads: int) -> None:
        from tellapart.search.embedders import open_embedder

        self.embedder, self.file = open_embedder("bundled:matcher", "", "cpu", threads), file
        self.width, self.fingerprint = self.embedder.width, self.embedder.fingerprint
        self._note()

    def embed_photos(self, photos: Iterable[VerifiedFile]) -> Iterator[Embedded]:
        for embedded in self.embedder.embed_photos(photos):
            yield embedded
            self._note()

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        return self.embedder.embed_texts(texts)

    def _note(self) -> None:
        with self.file.open("a") as file:
            file.write(f"{os.getpid()} {time.process_time()}\n")


def processor_time(file: Path) -> float:
    """Seconds that all processes spent after their models were open."""
    times: dict[str, list[float]] = {}
    for line in file.read_text().splitlines():
        process, seconds = line.split()
        times.setdefault(process, []).append(float(seconds))
    return sum(max(some) - min(some) for some in times.values())


def measure_indexing(folder: Path, photos: int) -> None:
    """Print photos per second, and processor time per photo, of each way to index."""
    from tellapart.search.local_engine import local_engine
    from tellapart.search.store import open_or_make
    from tellapart.search.table import About
    from tellapart.search.update import update_index

    def update(workers: int, on_ray: bool, where: Path) -> tuple[float, float]:
        log = where.with_suffix(".log")
        make = partial(Counted, log, 1 if on_ray else workers)
        started, embedder = time.monotonic(), None if on_ray else make()
        store = open_or_make(str(where), About("benchmark", "bundled:matcher", "", embedder.width if embedder else 512))
        if embedder is None:
            from tellapart.search.ray_engine import ray_engine

            changes = update_index(store, [folder / "photos"], partial(ray_engine, make, workers=workers, chunk=64))
        else:
            changes = update_index(store, [folder / "photos"], partial(local_engine, embedder), 64)
        assert changes.added == photos
        return time.monotonic() - started, processor_time(log)

    ways = {"one thread": (1, False), "two threads": (2, False)}
    if importlib.util.find_spec("ray"):
        import ray

        path = {"PYTHONPATH": os.pathsep.join(sys.path)}
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": path})
        ways["Ray, two workers"] = (2, True)
    else:
        print("Ray is not installed: pip install 'tellapart[ray]'", flush=True)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(ROUNDS):
        for place, (name, way) in enumerate(ways.items()):
            found[name].append(update(*way, folder / f"index-{turn}-{place}"))
    for name, each in found.items():
        seconds, spent = min(one[0] for one in each), min(one[1] for one in each)
        print(
            f"{name}: {photos / seconds:,.1f} photos per second with the start of workers, "
            f"{1000 * spent / photos:.1f} ms of processor time per photo without it",
            flush=True,
        )


def main(device: str = "cpu") -> None:
    """Print pairs and photos per second."""
    photos = max(BATCH, int(os.environ.get("TELLAPART_PHOTOS", "1000")))
    with tempfile.TemporaryDirectory(dir=os.environ.get("TELLAPART_SCRATCH")) as made:
        folder = Path(made)
        write_world(folder, photos)
        measure_training(folder)
        measure_indexing(folder, photos)
