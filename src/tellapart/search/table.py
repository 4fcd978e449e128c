"""The table of an index: its columns, and conditions on them.

path      absolute; the key                 vector    float16, of length one
folder    the indexed folder around it      caption   generated
size, modified, content (a hash)            edited    written by a person; shown instead of the generated caption
width, height, taken (the date in EXIF)     confidence, sure    of the generated caption; null where they are unknown
width, height, taken (the date in EXIF)     described written by a person into the file: XMP, IPTC or EXIF
camera ('' for none, null where the file was not read yet), latitude, longitude (of EXIF)

The metadata of the table hold the fingerprint of the matcher, so that one table never holds vectors of two matchers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "pictures"
FACTS = ("path", "folder", "size", "modified", "content", "width", "height", "taken", "caption", "edited",
         "confidence", "sure", "camera", "latitude", "longitude", "described")  # fmt: skip
LATER = {
    "confidence": "cast(NULL as float)",
    "sure": "cast(NULL as boolean)",
    "camera": "cast(NULL as string)",
    "latitude": "cast(NULL as double)",
    "longitude": "cast(NULL as double)",
    "described": "cast(NULL as string)",
}
"""Columns that the first indexes did not have, with their value in old rows."""


@dataclass(frozen=True)
class About:
    """The models that an index was made with."""

    fingerprint: str
    matcher: str
    captioner: str
    width: int


def schema(about: About) -> pa.Schema:
    """Columns and metadata of a new table."""
    import pyarrow as pa

    columns = [
        ("path", pa.string()),
        ("folder", pa.string()),
        ("size", pa.int64()),
        ("modified", pa.int64()),
        ("content", pa.string()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("taken", pa.timestamp("s")),
        ("caption", pa.string()),
        ("edited", pa.string()),
        ("confidence", pa.float32()),
        ("sure", pa.bool_()),
        ("camera", pa.string()),
        ("latitude", pa.float64()),
        ("longitude", pa.float64()),
        ("described", pa.string()),
        ("vector", pa.list_(pa.float16(), about.width)),
    ]
    return pa.schema(columns, metadata={"tellapart": json.dumps(asdict(about))})


def quoted(text: str) -> str:
    """A text in a condition.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def listed(texts: Iterable[str]) -> str:
    """Several texts in a condition.

    >>> listed(["a", "b"])
    "('a', 'b')"
    """
    return "(" + ", ".join(map(quoted, texts)) + ")"


def under(folder: str) -> str:
    """The condition that a photo lies inside a folder, at any depth."""
    return f"starts_with(path, {quoted(folder.rstrip('/') + '/')})"
