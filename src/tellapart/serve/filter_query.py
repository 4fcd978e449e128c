"""The filters of a request: arguments that search and lists of photos share."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from tellapart.core.errors import InputError
from tellapart.search.filters import Filters, Orientation, as_place
from tellapart.serve.library import InvalidQuery, PhotoLibrary

OLD = "The index was made before indexes stored cameras and places; update it once with `tellapart index`."


@dataclass(frozen=True)
class FilterQuery:
    """What the photos are limited to."""

    after: Annotated[datetime.date | None, Query(description="Taken on this day or later.")] = None
    before: Annotated[datetime.date | None, Query(description="Taken before this day.")] = None
    folder: Annotated[str, Query(max_length=4000, description="Only in this folder of /api/filters.")] = ""
    camera: Annotated[str, Query(max_length=200, description="Part of the name of the camera.")] = ""
    place: Annotated[str, Query(max_length=100, description="Latitude,longitude[,kilometres].")] = ""
    orientation: Annotated[Orientation | None, Query(description="Wider than high, or higher than wide.")] = None

    def of(self, library: PhotoLibrary) -> Filters:
        """The filters for a library; InvalidQuery if it has no such folder, or cannot filter by these."""
        try:
            place = as_place(self.place)
        except InputError as error:
            raise InvalidQuery(str(error)) from error
        inside = library.folder(self.folder)
        filters = Filters(inside, self.after, self.before, self.camera.strip(), place, self.orientation)
        try:
            filters.check(library.store)
        except InputError as error:  # which names the place of the index
            raise InvalidQuery(OLD) from error
        return filters
