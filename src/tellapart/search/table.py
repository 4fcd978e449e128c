"""The columns of an index, whatever keeps them.

path      absolute; the key                 vector    float16, of length one
folder    the indexed folder around it      caption   generated
size, modified, content (a hash)            edited    written by a person; shown instead of the generated caption
width, height, taken (the date in EXIF)     confidence, sure    of the generated caption; null where they are unknown
width, height, taken (the date in EXIF)     described written by a person into the file: XMP, IPTC or EXIF
camera ('' for none, null where the file was not read yet), latitude, longitude (of EXIF)

An index knows the fingerprint of its matcher, so that one index never holds vectors of two matchers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
"""Values of a photo by column; a vector is an array [E] float32, a date a `datetime` without time zone."""
FACTS = ("path", "folder", "size", "modified", "content", "width", "height", "taken", "caption", "edited",
         "confidence", "sure", "camera", "latitude", "longitude", "described")  # fmt: skip
COPIED = ("path", "content", "caption", "edited", "vector", "confidence", "sure")
"""What a file with known bytes takes from the row of its copy; the path is that of the copy."""
OWN_CAPTIONS = ("edited", "described")
"""Columns that people wrote."""
CAPTIONS = (*OWN_CAPTIONS, "caption")


@dataclass(frozen=True)
class About:
    """The models that an index was made with."""

    fingerprint: str
    matcher: str
    captioner: str
    width: int
