"""The image formats: one list of file suffixes for every command that reads images."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util

# fmt: off
SUFFIXES = (
    ".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".apng", ".webp", ".gif", ".bmp", ".dib", ".tif", ".tiff", ".ppm",
    ".pgm", ".pbm", ".pnm", ".tga", ".jp2", ".j2k", ".jpx", ".qoi", ".avif", ".avifs", ".heic", ".heif", ".hif",
)
# fmt: on
"""Suffixes of images. Pillow also opens icons, fonts and scientific grids, which are not images to caption."""
HEIC = (".heic", ".heif", ".hif")
RAW = (".dng", ".cr2", ".cr3", ".nef", ".nrw", ".arw", ".orf", ".rw2", ".raf", ".pef", ".srw", ".3fr", ".iiq", ".erf")
VIDEO = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".3gp", ".mts")
EXTRAS = {"heic": (HEIC, "pillow_heif"), "raw": (RAW, "rawpy"), "video": (VIDEO, "av")}
"""Extras of the package: the formats that each opens, and the module that it needs."""
NEEDS = {suffix: extra for extra, (suffixes, _) in EXTRAS.items() for suffix in suffixes}
"""The extra that opens a format Pillow itself does not."""


@functools.cache
def image_suffixes() -> frozenset[str]:
    """The suffixes that Pillow can open on this machine. The first call registers pillow-heif if it is installed."""
    from PIL import Image, features

    with contextlib.suppress(ImportError):
        importlib.import_module("pillow_heif").register_heif_opener()
    Image.init()
    known = {suffix for suffix, kind in Image.registered_extensions().items() if kind in Image.OPEN}
    # Pillow knows these suffixes even if it was built without the library behind them.
    absent = {
        suffix
        for library, suffixes in (("webp", (".webp",)), ("avif", (".avif", ".avifs")), ("jpg_2000", (".jp2", ".j2k")))
        if not features.check(library)
        for suffix in suffixes
    }
    return frozenset(SUFFIXES) & known - absent


@functools.cache
def photo_suffixes() -> frozenset[str]:
    """The suffixes of all files that can be opened as a photo here: images, raw photos and videos."""
    installed = [suffixes for suffixes, module in (EXTRAS["raw"], EXTRAS["video"]) if importlib.util.find_spec(module)]
    return image_suffixes().union(*installed)


def how_to_open(suffix: str) -> str:
    """The command that installs what opens a format.

    >>> how_to_open(".heic")
    "pip install 'tellapart[heic]'"
    """
    return f"pip install 'tellapart[{NEEDS[suffix]}]'"


def image_stem(name: str) -> str:
    """The file name without folders and without an image suffix.

    >>> image_stem("val2014/COCO_0001.jpg"), image_stem("12_a.b")
    ('COCO_0001', '12_a.b')
    """
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    stem, dot, suffix = base.rpartition(".")
    return stem if dot and f".{suffix.lower()}" in SUFFIXES else base


def name_fault(path: str) -> str:
    """What is wrong with a file name that is not UTF-8, so that no JSON or table can hold it; empty for a good one."""
    if path.isprintable() or path.encode("utf-8", "replace").decode() == path:
        return ""
    return f"{path!a} is not named in UTF-8; rename it"
