"""Opening what fills an index: without torch where both models were exported and read the same cells of an image,
otherwise with torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tellapart.inference.light.captioning import LightCaptioner
from tellapart.inference.light.matching import LightMatcher
from tellapart.inference.loading import check_torch, load_captioner, load_matcher
from tellapart.search.embedded import BATCH
from tellapart.search.light_embedder import LightEmbedder

if TYPE_CHECKING:
    from tellapart.inference.captioning import PhotoCaptioner
    from tellapart.inference.matching import PhotoMatcher
    from tellapart.search.embedder import Embedder


def embedder_of(
    matcher: PhotoMatcher | LightMatcher,
    captioner: PhotoCaptioner | LightCaptioner | None = None,
    batch: int = BATCH,
) -> Embedder | LightEmbedder:
    """An embedder of two models; if only one of them runs without torch, or they read other cells, with torch."""
    if isinstance(matcher, LightMatcher):
        if captioner is None:
            return LightEmbedder(matcher, batch=batch)
        if isinstance(captioner, LightCaptioner) and captioner.run.reads_as(matcher.run):
            return LightEmbedder(matcher, captioner, batch=batch)
    check_torch()
    from tellapart.inference.captioning import load_captioner as captioner_by_torch
    from tellapart.inference.matching import load_matcher as matcher_by_torch
    from tellapart.search.embedder import Embedder

    if isinstance(matcher, LightMatcher):
        matcher = matcher_by_torch(matcher.run.folder, "cpu", matcher.workers)
    if isinstance(captioner, LightCaptioner):
        captioner = captioner_by_torch(captioner.run.folder, "cpu", captioner.workers)
    return Embedder(matcher, captioner, batch=batch)


def open_embedder(
    matcher: str,
    captioner: str = "",
    device: str = "cpu",
    workers: int = 0,
    *,
    precision: str = "auto",
    compile: bool = False,
    batch: int = BATCH,
) -> Embedder | LightEmbedder:
    """An embedder of a matcher's run and, unless the name is empty, a captioner's run."""
    opened = load_captioner(captioner, device, workers, precision, compile=compile) if captioner else None
    return embedder_of(load_matcher(matcher, device, workers, precision, compile=compile), opened, batch)
