"""Conditions on photos in SQL, with their values apart."""

from __future__ import annotations

from tellapart.search.filters import COMPARED, Filters, Place

Values = list[str | float]


def condition(filters: Filters) -> tuple[str, Values]:
    """The condition in SQL, with a ? per value; 1 if there is none."""
    parts: list[str] = []
    values: Values = []
    if filters.folder:
        inside = filters.folder.rstrip("/")
        parts.append("path >= ? AND path < ?")
        values += [inside + "/", inside + chr(ord("/") + 1)]
    if filters.after:
        parts.append("taken >= ?")
        values.append(f"{filters.after} 00:00:00")
    if filters.before:
        parts.append("taken < ?")
        values.append(f"{filters.before} 00:00:00")
    if filters.camera:
        parts.append("contains(camera, ?)")
        values.append(filters.camera.lower())
    if filters.place:
        parts.append("within(latitude, longitude, ?, ?, ?)")
        values += [filters.place.latitude, filters.place.longitude, filters.place.km]
    if filters.orientation:
        parts.append(f"width {COMPARED[filters.orientation]} height AND width > 0")
    return " AND ".join(f"({part})" for part in parts) or "1", values


def contains(text: str | None, part: str) -> bool:
    """Whether a text has a part, in upper or lower case; a function for SQL."""
    return text is not None and part in text.lower()


def within(latitude: float | None, longitude: float | None, north: float, east: float, km: float) -> bool:
    """Whether a place is inside a circle; a function for SQL."""
    return latitude is not None and longitude is not None and Place(north, east, km).has(latitude, longitude)
