"""Encoding photos for an index with Ray Data, on the workers of a cluster.

Every worker must have the folders under the same path (a shared file system), or be able to read the addresses of the
photos (object storage). Only this process writes the index.
"""

from __future__ import annotations

import datetime
import importlib
import itertools
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.search.embedded import Embeds
from tellapart.search.examined import Engine, Examined, Photo
from tellapart.search.file_facts import FileFacts
from tellapart.search.local_engine import examine_all

PHOTOS_PER_JOB = 65_536
"""Photos given to the cluster together; this process holds their paths only."""


class RayWorker:
    """The models of one worker, opened once; Ray Data calls it with a chunk of photos."""

    def __init__(self, make: Callable[[], Embeds], contents: np.ndarray) -> None:
        self.embedder, self.contents = make(), contents

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, Any]:
        rows = zip(batch["path"], batch["folder"], batch["modified"], batch["size"])
        photos = [Photo(str(path), str(folder), int(modified), int(size)) for path, folder, modified, size in rows]
        examined = examine_all(photos, self.embedder, self.contents)
        empty = np.zeros(self.embedder.width, np.float32)
        vectors = np.stack([empty if one.vector is None else one.vector for one in examined])
        return {"row": np.asarray([_as_json(one) for one in examined], object), "vector": vectors}


def ray_engine(make: Callable[[], Embeds], contents: np.ndarray, workers: int, chunk: int, gpus: float = 0) -> Engine:
    """An engine on Ray; each worker opens its models with `make` and takes `chunk` photos at a time."""
    try:
        ray = importlib.import_module("ray")
        data = importlib.import_module("ray.data")
    except ImportError as error:
        raise InputError("`engine='ray'` needs Ray; run `pip install 'ray[data]'`.") from error
    logging.getLogger("ray.data").setLevel(logging.WARNING)  # it lists its progress otherwise
    data.DataContext.get_current().enable_progress_bars = False
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)

    def engine(chunks: Iterator[list[Photo]]) -> Iterator[list[Examined]]:
        photos = itertools.chain.from_iterable(chunks)
        while some := list(itertools.islice(photos, PHOTOS_PER_JOB)):
            blocks = max(1, -(-len(some) // chunk))
            examined = data.from_items([asdict(photo) for photo in some], override_num_blocks=blocks).map_batches(
                RayWorker,
                fn_constructor_args=(make, contents),
                batch_size=chunk,
                compute=data.ActorPoolStrategy(size=workers),
                num_gpus=gpus,
            )
            for batch in examined.iter_batches(batch_size=chunk, batch_format="numpy"):
                yield [_examined(str(row), vector) for row, vector in zip(batch["row"], batch["vector"])]

    return engine


def _as_json(one: Examined) -> str:
    """Everything but the vector as JSON, which a block of Ray can hold even if fields are missing."""
    facts = None if one.facts is None else asdict(one.facts)
    if facts is not None and facts["taken"] is not None:
        facts["taken"] = facts["taken"].isoformat()
    plain = {
        "photo": asdict(one.photo),
        "facts": facts,
        "caption": one.caption,
        "fault": one.fault,
        "changed": one.changed,
        "confidence": one.confidence,
        "sure": one.sure,
    }
    return json.dumps(plain | {"seen": one.vector is not None})


def _examined(text: str, vector: np.ndarray) -> Examined:
    row = json.loads(text)
    facts = row["facts"]
    if facts is not None and facts["taken"] is not None:
        facts["taken"] = datetime.datetime.fromisoformat(facts["taken"])
    return Examined(
        Photo(**row["photo"]),
        None if facts is None else FileFacts(**facts),
        vector if row["seen"] else None,
        row["caption"],
        row["fault"],
        changed=row["changed"],
        confidence=row["confidence"],
        sure=row["sure"],
    )
