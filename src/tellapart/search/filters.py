"""Conditions on the photos to find: folder, date, camera, place and orientation."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from tellapart.core.errors import InputError, Step

if TYPE_CHECKING:
    from tellapart.search.protocol import Store

Day = datetime.date | str
"""A day, or its text: 2019-07-21."""
Orientation = Literal["landscape", "portrait", "square"]
ORIENTATIONS: tuple[Orientation, ...] = get_args(Orientation)
COMPARED: dict[Orientation, str] = {"landscape": ">", "portrait": "<", "square": "="}
KM_PER_DEGREE = 6371.0088 * math.pi / 180
DEFAULT_KM = 10.0


@dataclass(frozen=True)
class Place:
    """A circle on the earth."""

    latitude: float
    """Degrees, north positive."""
    longitude: float
    """Degrees, east positive."""
    km: float = DEFAULT_KM
    """Photos within so many kilometres."""

    def has(self, latitude: float, longitude: float) -> bool:
        """Whether a point lies inside it. The map is taken for flat: below 300 km the error is under 1%."""
        across = KM_PER_DEGREE * math.cos(math.radians(self.latitude))
        east = ((longitude - self.longitude + 540) % 360 - 180) * across
        north = (latitude - self.latitude) * KM_PER_DEGREE
        return east * east + north * north <= self.km * self.km


@dataclass(frozen=True)
class Filters:
    """Conditions on the photos to find."""

    folder: str = ""
    """Only photos in this folder or one inside it."""
    after: datetime.date | None = None
    """Taken on this day or later; photos without a date do not match."""
    before: datetime.date | None = None
    """Taken before this day."""
    camera: str = ""
    """Only photos of cameras whose name contains this, in upper or lower case."""
    place: Place | None = None
    """Only photos taken there; photos without coordinates do not match."""
    orientation: Orientation | None = None
    """Only photos wider than high, higher than wide, or square."""

    def check(self, store: Store) -> None:
        """Raise an InputError if the index was made before it stored what the filters need."""
        used = [name for name, value in (("camera", self.camera), ("latitude", self.place)) if value]
        if missing := [name for name in used if not store.has(name)]:
            what = "places" if "latitude" in missing else "cameras"
            raise InputError(
                f"The index {store.where} was made before indexes stored {what}; update it once.",
                Step("index", "FOLDER", out=store.where),
            )


def as_day(day: Day | None, argument: str) -> datetime.date | None:
    """A day, given as one or as text; None for none. `argument` names it in the error.

    >>> as_day("2019-07-21", "after")
    datetime.date(2019, 7, 21)
    """
    if not day or isinstance(day, datetime.date):
        return day or None
    try:
        return datetime.date.fromisoformat(day)
    except ValueError as error:
        raise InputError(f"`{argument}` must be a day such as 2019-07-21, not '{day}'.") from error


def as_place(text: str) -> Place | None:
    """Latitude and longitude in degrees, and kilometres around them (10 by default); None for no text.

    >>> as_place("48.21, 16.37, 5")
    Place(latitude=48.21, longitude=16.37, km=5.0)
    >>> as_place("48.21,16.37").km
    10.0
    """
    if not text:
        return None
    try:
        latitude, longitude, *km = map(float, text.split(","))
        place = Place(latitude, longitude, *km)
        if len(km) <= 1 and abs(latitude) <= 90 and abs(longitude) <= 180 and 0 < place.km < math.inf:
            return place
    except (ValueError, TypeError):
        pass
    raise InputError(
        f"`place` must be a latitude and a longitude in degrees, and may have kilometres, such as 48.21,16.37,5, not "
        f"'{text}'."
    )


def as_orientation(text: str) -> Orientation | None:
    """An orientation; None for no text."""
    found = next((one for one in ORIENTATIONS if one == text), None)
    if text and found is None:
        raise InputError(f"`orientation` must be {', '.join(ORIENTATIONS[:-1])} or {ORIENTATIONS[-1]}, not '{text}'.")
    return found
