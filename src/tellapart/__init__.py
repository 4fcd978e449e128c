"""Tellapart finds images by text, captions images so that each caption fits its image alone, and shows attention.

    import tellapart as ta
    matcher = ta.load_matcher()
    vectors = matcher.encode_images(["cat.jpg", pil_image, array])
    captioner = ta.load_captioner()
    print(captioner.caption("cat.jpg"))
    index = ta.open_index("photos.index")
    index.update("photos/")
    index.search("two dogs")

The names in `__all__` are the public API. Each is imported when it is first used: `import tellapart` alone loads
neither torch nor LanceDB.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tellapart.core.errors import Error, InputError
    from tellapart.images.opening import UnreadableImage
    from tellapart.inference.caption import Caption
    from tellapart.inference.caption_attention import CaptionAttention
    from tellapart.inference.captioning import PhotoCaptioner
    from tellapart.inference.loading import load_captioner, load_matcher
    from tellapart.inference.matching import PhotoMatcher
    from tellapart.metrics.captions.score import score
    from tellapart.search.changes import Changes
    from tellapart.search.photo_index import PhotoIndex, open_index
    from tellapart.search.query import Found

__version__ = "0.2.0.dev0"

__all__ = [
    "Caption",
    "CaptionAttention",
    "Changes",
    "Error",
    "Found",
    "InputError",
    "PhotoCaptioner",
    "PhotoIndex",
    "PhotoMatcher",
    "UnreadableImage",
    "load_captioner",
    "load_matcher",
    "open_index",
    "score",
]

_MODULES = {
    "Caption": "inference.caption",
    "CaptionAttention": "inference.caption_attention",
    "Changes": "search.changes",
    "Error": "core.errors",
    "Found": "search.query",
    "InputError": "core.errors",
    "PhotoCaptioner": "inference.captioning",
    "PhotoIndex": "search.photo_index",
    "PhotoMatcher": "inference.matching",
    "UnreadableImage": "images.opening",
    "load_captioner": "inference.loading",
    "load_matcher": "inference.loading",
    "open_index": "search.photo_index",
    "score": "metrics.captions.score",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module 'tellapart' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"tellapart.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
