"""The routes of the JSON API."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Query, Response, UploadFile
from fastapi import Path as PathParameter
from starlette.exceptions import HTTPException

from tellapart.images.opening import UnreadableImage
from tellapart.serve import schemas
from tellapart.serve.access import DESCRIBE, AccessRules
from tellapart.serve.batches import BatchQueue
from tellapart.serve.choices import FilterChoices
from tellapart.serve.describe import Describer
from tellapart.serve.describe import Description as Describing
from tellapart.serve.filter_query import FilterQuery
from tellapart.serve.library import PHOTO_ID, PhotoLibrary
from tellapart.serve.originals import original_file
from tellapart.serve.rendering import PhotoRenderer, Size, to_jpeg
from tellapart.serve.schemas import (
    Description,
    EditList,
    IndexInfo,
    Indexing,
    NewCaption,
    PhotoDetails,
    PhotoList,
    SearchResult,
)
from tellapart.serve.uploads import RejectedUpload, Upload, save_upload, unreadable
from tellapart.serve.work_queue import WorkQueue

PREVIEW_SIDE = 960
TOGETHER = 8
"""Dropped photos that are described at once."""
JPEG_RESPONSE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}}
}
ORIGINAL_RESPONSE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}}
}

PhotoId = Annotated[str, PathParameter(pattern=PHOTO_ID, description="Hash of the photo's bytes.")]
Count = Annotated[int, Query(ge=1, le=200)]
Offset = Annotated[int, Query(ge=0, le=10_000_000)]
RankedOffset = Annotated[int, Query(ge=0, le=5_000, description="Leave out the first photos.")]
Limits = Annotated[FilterQuery, Depends()]


def index_routes(describer: Describer, rules: AccessRules, max_upload_pixels: int) -> APIRouter:
    """GET /api/index and GET /api/search."""
    router, queue = APIRouter(tags=["index"]), WorkQueue(4, 500)
    library = describer.library

    @router.get("/api/index")
    def index_info() -> IndexInfo:
        """The size of the index, its last and current update, and what the server can do."""
        status = library.update_status()
        return IndexInfo(
            photos=len(library),
            indexed=library.indexed(),
            skipped=status.skipped if status else 0,
            indexing=Indexing(done=status.done, total=status.total) if status and status.running else None,
            originals=rules.originals,
            captions=describer.has_captions,
            attention=describer.has_attention,
            max_upload_bytes=rules.upload_bytes,
            max_upload_pixels=max_upload_pixels,
        )

    choices = FilterChoices(library.store)

    @router.get("/api/filters")
    async def filter_choices() -> schemas.FilterChoices:
        """Folders, cameras and dates to filter by."""
        return schemas.FilterChoices(**vars(await queue.run(choices.current)))

    @router.get("/api/search")
    async def search(
        limits: Limits,
        query: Annotated[str, Query(max_length=300, description="What the photos show.")] = "",
        without: Annotated[str, Query(max_length=300, description="What they do not show.")] = "",
        count: Count = 24,
        offset: RankedOffset = 0,
    ) -> SearchResult:
        """Photos that match a query: clear matches first, then weak ones. Copies and bursts count once."""
        found = await queue.run(lambda: library.search(query, without, count, limits.of(library), offset))
        return schemas.search_result(found)

    return router


def photo_routes(library: PhotoLibrary, originals: bool) -> APIRouter:
    """GET /api/photos, and everything under /api/photos/{id}."""
    router = APIRouter(prefix="/api/photos", tags=["photos"])
    renderer, queries, images = PhotoRenderer(), WorkQueue(4, 500), WorkQueue(4, 500)

    @router.get("")
    async def newest_photos(limits: Limits, count: Count = 24, offset: Offset = 0) -> PhotoList:
        """The newest photos, or those after the first `offset` of them."""
        newest = await queries.run(lambda: library.newest(count, offset, limits.of(library)))
        return PhotoList(photos=schemas.photo_summaries(newest))

    @router.get("/{id}")
    async def photo(id: PhotoId) -> PhotoDetails:
        """A photo with its captions, folder, date and camera; with its place, if the server sends originals."""
        return schemas.photo_details(await queries.run(lambda: library.photo(id)), originals)

    @router.get("/{id}/similar")
    async def similar_photos(id: PhotoId, count: Count = 12, offset: RankedOffset = 0) -> PhotoList:
        """Photos similar to this one, best first."""
        return PhotoList(photos=schemas.found_photos(await queries.run(lambda: library.similar(id, count, offset))))

    @router.get("/{id}/image", response_class=Response, responses=JPEG_RESPONSE)
    async def photo_image(id: PhotoId, size: Size = "small") -> Response:
        """The photo as an upright JPEG without EXIF, at most 320 (small) or 1280 (large) pixels wide and high."""
        jpeg = await images.run(lambda: renderer.jpeg(library.file(id), size))
        return Response(jpeg, media_type="image/jpeg", headers={"cache-control": "private, max-age=86400"})

    @router.get("/{id}/original", response_class=Response, responses=ORIGINAL_RESPONSE)
    async def photo_original(id: PhotoId) -> Response:
        """The file of the photo as it is, with its metadata, if the server may send it."""
        if not originals:
            raise HTTPException(403, "This server does not send original files.")
        return original_file(*await queries.run(lambda: (library.file(id), library.photo(id).name)))

    @router.get("/{id}/edits")
    async def photo_edits(id: PhotoId) -> EditList:
        """The captions that people saved for a photo, newest first."""
        return schemas.edit_list(await queries.run(lambda: library.history(id)))

    @router.put("/{id}/caption")
    async def edit_caption(id: PhotoId, new: NewCaption) -> PhotoDetails:
        """Store an edited caption in the index."""
        text = " ".join((new.caption or "").replace("\0", " ").split()) or None
        return schemas.photo_details(await queries.run(lambda: library.edit_caption(id, text)), originals)

    return router


def describe_routes(describer: Describer, max_upload_pixels: int) -> APIRouter:
    """POST /api/describe."""
    router = APIRouter(tags=["describe"])
    uploads = WorkQueue(4, 500)

    def work(batch: Sequence[tuple[Path, int]]) -> Sequence[Describing | Exception]:
        return describer.describe_all([file for file, _ in batch], [similar for _, similar in batch])

    # The network uses all cores, and eight photos take much less than eight times as long as one.
    queue: BatchQueue[tuple[Path, int], Describing] = BatchQueue(work, TOGETHER, 64)

    @router.post(DESCRIBE)
    async def describe(photo: Annotated[UploadFile, File()], similar: Count = 12) -> Description:
        """Describe an uploaded photo and find similar photos of the index. The upload is not stored."""
        with tempfile.TemporaryDirectory(prefix="tellapart-") as folder:
            upload = await uploads.run(lambda: save_upload(photo.file.read(), max_upload_pixels, Path(folder)))
            try:
                description = await queue.run((upload.file, similar))
            except UnreadableImage as error:
                raise RejectedUpload(unreadable()) from error
            return await uploads.run(lambda: described_upload(description, upload))

    return router


def described_upload(description: Describing, upload: Upload) -> Description:
    """The description of an uploaded photo, with its preview."""
    preview = base64.b64encode(to_jpeg(upload.image, PREVIEW_SIDE)).decode()
    return Description(
        caption=schemas.caption(description.caption),
        distinctive_caption=schemas.caption(description.distinctive_caption),
        similar=schemas.found_photos(description.similar),
        preview=f"data:image/jpeg;base64,{preview}",
        width=upload.width,
        height=upload.height,
    )
