"""`tellapart index FOLDER… --out INDEX`: folders of photos into an index to search."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from tellapart.core.precisions import Precision
from tellapart.images.formats import EXTRAS
from tellapart.search.changes import Changes
from tellapart.search.photo_index import PhotoIndex
from tellapart.search.protocol import Built

SHOWN_FAULTS = 10


@dataclass(frozen=True)
class IndexOptions:
    """Bring an index up to date with folders of photos. Photos that it holds already are not encoded again."""

    folders: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Folders of photos, searched recursively. With tellapart[remote], also addresses that fsspec reads: s3://…"""
    out: str
    """The index: a folder, or with tellapart[lance] any address that LanceDB takes (s3://…, gs://…, az://…)."""
    matcher: str = "bundled:matcher"
    """The run, or hf:FOLDER, whose vectors are indexed; it must give one vector per image."""
    captioner: str = "bundled:captioner"
    """The run, or hf:FOLDER, that generates a caption per photo; "none" for no captions."""
    engine: Literal["local", "ray"] = "local"
    """ray: encode photos with Ray Data on a cluster, or in several processes of this machine."""
    workers: int = 0
    """Threads (local) or workers (ray). 0: one thread per core, or two workers."""
    gpus: float = 0
    """GPUs per Ray worker; a share such as 0.5 lets two workers use one."""
    chunk: int = 256
    """Photos that become visible together; at most so many are encoded again after a crash."""
    forget: bool = False
    """Remove the photos of a folder that holds none any more. Default: raise, since its disk may not be mounted."""
    verify: bool = False
    """Encode unchanged photos too, and replace vectors that are not those of their files."""
    device: str = "cpu"
    """cpu, cuda, …"""
    precision: Precision = "auto"
    """Of the backbone, or of a model of transformers: float32, bfloat16, float16 (transformers only), or auto."""
    compile: bool = False
    """Compile models of transformers (torch.compile): a minute at the start, which pays for many photos."""
    batch: int = 64
    """Photos encoded at once; more need more memory."""
    json: bool = False
    """Print JSON instead of a sentence."""
    progress: bool = True
    """Show progress."""


def index(options: IndexOptions) -> Changes:
    """Update the index and print the changes."""
    captioner = None if options.captioner in ("", "none") else options.captioner
    threads = options.workers if options.engine == "local" else 1
    opened = PhotoIndex(
        options.out, options.matcher, captioner, options.device, threads,
        precision=options.precision, compile=options.compile, batch=options.batch,
    )  # fmt: skip
    changes = opened.update(
        options.folders,
        forget=options.forget,
        chunk=options.chunk,
        engine=options.engine,
        workers=options.workers,
        gpus=options.gpus,
        progress=options.progress,
        verify=options.verify,
    )
    _print(changes, opened.built, len(opened), options)
    return changes


def _print(changes: Changes, built: Built | None, photos: int, options: IndexOptions) -> None:
    if options.json:
        facts = {**changes.__dict__, "photos": photos, "recall": None if built is None else built.recall}
        print(json.dumps(facts, indent=2))
        return
    print(
        f"{options.out}: {photos} photos; {changes.added} new, {changes.changed} changed, {changes.carried} moved or "
        f"copied, {changes.deleted} deleted, {changes.unchanged} unchanged."
    )
    if changes.converted:
        print(f"Moved {changes.converted} photos of an earlier version from LanceDB into SQLite, with all captions.")
    if changes.completed:
        print(f"Added camera, place and description to {changes.completed} photos of an earlier index.")
    if options.verify:
        print(f"Verified: {changes.repaired} rows had the vector of another image and were replaced.")
    if built is not None:
        print(
            f"Built an approximate index: it finds {100 * built.recall:.1f}% of the ten nearest photos "
            f"(it searches {built.nprobes} cells)."
        )
    for extra, files in changes.missing_extras.items():
        print(f"  skipped: {files} files ({', '.join(EXTRAS[extra][0])}), which need an extra: "
              f"pip install 'tellapart[{extra}]'", file=sys.stderr)  # fmt: skip
    for fault in changes.faults[:SHOWN_FAULTS]:
        print(f"  skipped: {fault}", file=sys.stderr)
    if len(changes.faults) > SHOWN_FAULTS:
        print(f"  skipped: {len(changes.faults) - SHOWN_FAULTS} more", file=sys.stderr)
