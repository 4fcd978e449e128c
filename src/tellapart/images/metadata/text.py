"""Texts that people wrote into a photo, cleaned, and distinguished from those that cameras write by themselves."""

from __future__ import annotations

import re

from tellapart.images.formats import SUFFIXES

LONGEST = 10_000
"""Letters kept of a description."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

BY_CAMERAS = (
    "olympus digital camera", "minolta digital camera", "digital camera", "kodak digital still camera", "sony dsc",
    "samsung", "samsung digital camera", "camera", "default", "dcim",
    "ascii", "unicode", "untitled", "image", "photo", "picture", "screenshot", "jpeg", "hdr", "sdr", "edf", "cof",
    "oznor", "created with gimp", "description", "none", "null",
)  # fmt: skip
"""Descriptions that devices and programs write, in lower case."""


def clean_text(text: str) -> str | None:
    """A text without control characters and outer spaces, cut at LONGEST letters; None if nothing remains.

    >>> clean_text("  A dog\\r\\non a beach \\0\\0"), clean_text(" \\0")
    ('A dog\\non a beach', None)
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").split("\0")[0]
    return _CONTROL.sub("", text)[:LONGEST].strip() or None


def written_by_people(text: str | None) -> str | None:
    """The text, or None if a camera or program wrote it, or if it is a file name or has no letter.

    >>> written_by_people("Whiskers, our grumpy calico")
    'Whiskers, our grumpy calico'
    >>> [written_by_people(text) for text in ("OLYMPUS DIGITAL CAMERA   ", "100MEDIA/DJI_0042.JPG", "-- 12")]
    [None, None, None]
    """
    if text is None:
        return None
    plain = " ".join(text.lower().split())
    if (
        plain in BY_CAMERAS
        or plain.startswith("exif_jpeg_")
        or plain.endswith(SUFFIXES)
        or not any(letter.isalpha() for letter in plain)
    ):
        return None
    return text
