"""Conditions on photos as LanceDB reads them."""

from __future__ import annotations

import math

from tellapart.search.filters import COMPARED, KM_PER_DEGREE, Filters, Place
from tellapart.search.lance.schema import quoted, under


def condition(filters: Filters, edited: bool = False) -> str:
    """The condition; empty if there is none. edited: only rows with an edited caption."""
    parts = [under(filters.folder)] if filters.folder else []
    parts += [f"taken >= timestamp {quoted(f'{filters.after} 00:00:00')}"] if filters.after else []
    parts += [f"taken < timestamp {quoted(f'{filters.before} 00:00:00')}"] if filters.before else []
    parts += [f"strpos(lower(camera), {quoted(filters.camera.lower())}) > 0"] if filters.camera else []
    parts += [_near(filters.place)] if filters.place else []
    parts += [f"width {COMPARED[filters.orientation]} height AND width > 0"] if filters.orientation else []
    parts += ["edited IS NOT NULL"] if edited else []
    return " AND ".join(parts)


def _near(place: Place) -> str:
    across = KM_PER_DEGREE * math.cos(math.radians(place.latitude))
    east = f"((longitude - {place.longitude!r} + 540.0) % 360.0 - 180.0) * {across!r}"
    north = f"(latitude - {place.latitude!r}) * {KM_PER_DEGREE!r}"
    return f"({east}) * ({east}) + ({north}) * ({north}) <= {place.km * place.km!r}"
