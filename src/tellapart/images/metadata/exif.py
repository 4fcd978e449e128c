"""Facts in the EXIF block of a photo: when, with which camera and where it was taken, and its description."""

from __future__ import annotations

import contextlib
import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tellapart.images.metadata.text import clean_text

if TYPE_CHECKING:
    from PIL import Image

DESCRIPTION, MAKE, MODEL, CHANGED, WINDOWS_COMMENT = 0x010E, 0x010F, 0x0110, 0x0132, 0x9C9C
EXIF_BLOCK, TAKEN = 0x8769, 0x9003
GPS_BLOCK, LATITUDE_SIDE, LATITUDE, LONGITUDE_SIDE, LONGITUDE = 0x8825, 1, 2, 3, 4


@dataclass(frozen=True)
class ExifFacts:
    """What an EXIF block says; None where it says nothing, or nothing that can be true."""

    taken: datetime.datetime | None = None
    camera: str | None = None
    latitude: float | None = None
    """Degrees, north positive."""
    longitude: float | None = None
    """Degrees, east positive."""
    description: str | None = None


def exif_facts(exif: Image.Exif) -> ExifFacts:
    """The facts of a block as Pillow reads it. A broken entry is left out; it never raises."""
    taken: datetime.datetime | None = None
    camera = description = None
    place: tuple[float, float] | None = None
    # A broken block may raise anything; what was read before stays.
    with contextlib.suppress(Exception):
        camera = camera_name(_text(exif.get(MAKE)), _text(exif.get(MODEL)))
    with contextlib.suppress(Exception):
        description = _text(exif.get(DESCRIPTION)) or _windows_text(exif.get(WINDOWS_COMMENT))
    with contextlib.suppress(Exception):
        taken = exif_date(exif.get_ifd(EXIF_BLOCK).get(TAKEN)) or exif_date(exif.get(CHANGED))
    with contextlib.suppress(Exception):
        place = _place(exif.get_ifd(GPS_BLOCK))
    latitude, longitude = place or (None, None)
    return ExifFacts(taken, camera, latitude, longitude, description)


def exif_date(text: object) -> datetime.datetime | None:
    """A date as EXIF writes it; None for anything else.

    >>> exif_date("2019:07:21 18:04:33")
    datetime.datetime(2019, 7, 21, 18, 4, 33)
    >>> exif_date("0000:00:00 00:00:00"), exif_date(None)
    (None, None)
    """
    try:
        return datetime.datetime.strptime(str(text).strip("\0 ")[:19], "%Y:%m:%d %H:%M:%S")
    except ValueError:
        return None


def camera_name(make: str | None, model: str | None) -> str | None:
    """Make and model, without the make where the model repeats it.

    >>> camera_name("Canon", "Canon EOS 5D"), camera_name("NIKON CORPORATION", "NIKON D90")
    ('Canon EOS 5D', 'NIKON D90')
    >>> camera_name("Apple", "iPhone 12"), camera_name("Apple", None), camera_name(None, None)
    ('Apple iPhone 12', 'Apple', None)
    """
    if not make or not model:
        return model or make
    return model if model.lower().startswith(make.split()[0].lower()) else f"{make} {model}"


def degrees(parts: Sequence[Any], side: object, most: float) -> float | None:
    """Degrees, minutes and seconds as one number, negative for S and W; None if it is no such place.

    >>> degrees((52, 30, 36), "N", 90), degrees((13, 22, 30), "W", 180)
    (52.51, -13.375)
    >>> degrees((91, 0, 0), "N", 90), degrees((float("nan"), 0, 0), "N", 90)
    (None, None)
    """
    side = side.decode("ascii", "replace") if isinstance(side, bytes) else str(side)
    size = float(sum(float(part) / 60.0**power for power, part in enumerate(parts[:3])))
    if not math.isfinite(size) or not 0 <= size <= most:
        return None
    return round(-size if side.strip("\0 ").upper() in ("S", "W") else size, 7)


def _place(gps: Any) -> tuple[float, float] | None:
    """Latitude and longitude. Cameras without a satellite write 0, 0, a place in the Atlantic."""
    if LATITUDE not in gps or LONGITUDE not in gps:
        return None
    latitude = degrees(gps[LATITUDE], gps.get(LATITUDE_SIDE, "N"), 90)
    longitude = degrees(gps[LONGITUDE], gps.get(LONGITUDE_SIDE, "E"), 180)
    if latitude is None or longitude is None or (latitude == 0 and longitude == 0):
        return None
    return latitude, longitude


def _text(value: object) -> str | None:
    """A text of EXIF: ASCII by its definition, often UTF-8; Pillow reads each byte as one letter."""
    if isinstance(value, str):
        with contextlib.suppress(UnicodeError):
            value = value.encode("latin-1").decode("utf-8")
    elif isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    else:
        return None
    return clean_text(str(value))


def _windows_text(value: object) -> str | None:
    """A text as Windows writes it: UTF-16, little-endian."""
    data = bytes(value) if isinstance(value, bytes | tuple) else b""
    return clean_text(data.decode("utf-16-le", "ignore"))
