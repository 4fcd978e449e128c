"""The routes: one page, and the JSON API it uses. OpenAPI's description lies at /api/openapi.json."""

from __future__ import annotations

import base64
import datetime
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, File, Query, Request, Response, UploadFile
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tellapart.core.errors import InputError
from tellapart.images.opening import UnreadableImage
from tellapart.search.query import Filters
from tellapart.serve import answers
from tellapart.serve.answers import About, Described, FoundPhotos, NewCaption, PhotoDetails, Problem
from tellapart.serve.describe import Describer
from tellapart.serve.guard import PHOTOS, Admission, Guard
from tellapart.serve.library import IDENTITY, BadQuestion, Library, UnknownPhoto
from tellapart.serve.rendering import PhotoRenderer, Size, as_jpeg
from tellapart.serve.turns import Turns
from tellapart.serve.uploads import LargeUpload, RejectedUpload, keep_upload

PAGE = Path(__file__).parent / "page"
FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
PREVIEW, SIMILAR = 960, 12
STATUS: dict[type[InputError], int] = {BadQuestion: 400, UnknownPhoto: 404, LargeUpload: 413, RejectedUpload: 415}
"""Their sentences may be sent to anyone; those of other mistakes may name files of this machine."""
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 401, 403, 404, 408, 413, 415, 421, 422, 503)
}

Identity = Annotated[str, InPath(pattern=IDENTITY, description="Hash of the image's bytes.")]
Words = Annotated[str, Query(max_length=300)]
Count = Annotated[int, Query(ge=1, le=200)]


def make_app(library: Library, admission: Admission, upload_pixels: int, neighbours: int = 10) -> FastAPI:
    """The whole application over an opened index."""
    app = FastAPI(
        title="Tellapart", version="1", openapi_url="/api/openapi.json", docs_url=None, redoc_url=None,
        responses=PROBLEMS,
    )  # fmt: skip
    app.add_middleware(Guard, admission=admission)
    describer = Describer(library, neighbours)
    _add_page(app)
    _add_index(app, library)
    _add_photos(app, describer, upload_pixels)

    @app.get("/api/index", tags=["index"])
    def about() -> About:
        return About(
            photos=len(library.store),
            captions=describer.generator is not None,
            attention=describer.attends,
            upload_bytes=admission.upload_bytes,
            upload_pixels=upload_pixels,
        )

    app.add_exception_handler(InputError, _say_problem)
    app.add_exception_handler(RequestValidationError, _say_invalid)
    app.add_exception_handler(HTTPException, _say_refusal)
    return app


def _add_page(app: FastAPI) -> None:
    def answer(name: str, kind: str) -> Response:
        return Response((PAGE / name).read_bytes(), media_type=kind, headers={"cache-control": "no-cache"})

    for address, (name, kind) in FILES.items():
        app.add_api_route(address, lambda name=name, kind=kind: answer(name, kind), include_in_schema=False)


def _add_index(app: FastAPI, library: Library) -> None:
    images, drawing, asking = PhotoRenderer(), Turns(4, 500), Turns(4, 500)

    @app.get("/api/search", tags=["index"])
    async def search(
        words: Words = "",
        without: Words = "",
        count: Count = 24,
        after: datetime.date | None = None,
        before: datetime.date | None = None,
    ) -> FoundPhotos:
        """Images that words describe, best first."""
        filters = Filters("", after, before)
        found = await asking.take(lambda: library.search(words, without, count, filters))
        return FoundPhotos(found=answers.found_images(found))

    @app.get("/api/pictures/{identity}", tags=["pictures"])
    async def photo(identity: Identity) -> PhotoDetails:
        return answers.image(await asking.take(lambda: library.row(identity)))

    @app.get("/api/pictures/{identity}/similar", tags=["pictures"])
    async def similar(identity: Identity, count: Count = SIMILAR) -> FoundPhotos:
        found = await asking.take(lambda: library.similar(identity, count))
        return FoundPhotos(found=answers.found_images(found))

    @app.get(
        "/api/pictures/{identity}/image",
        tags=["pictures"],
        response_class=Response,
        responses={200: {"content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}}},
    )
    async def image(identity: Identity, size: Size = "small") -> Response:
        """The image as a JPEG, upright and without EXIF."""
        jpeg = await drawing.take(lambda: images.jpeg(library.file(identity), size))
        return Response(jpeg, media_type="image/jpeg", headers={"cache-control": "private, max-age=86400"})

    @app.put("/api/pictures/{identity}/caption", tags=["pictures"])
    async def edit(identity: Identity, new: NewCaption) -> PhotoDetails:
        """Keep a person's caption in the index."""
        words = " ".join((new.caption or "").replace("\0", " ").split()) or None
        return answers.image(await asking.take(lambda: library.edit(identity, words)))


def _add_photos(app: FastAPI, describer: Describer, pixels: int) -> None:
    # One photo at a time: the network uses all cores for each.
    looking = Turns(1, 64)

    @app.post(PHOTOS, tags=["photos"])
    async def describe(photo: Annotated[UploadFile, File()], similar: Count = SIMILAR) -> Described:
        """A photo told, and the images of the index most like it. It is not kept."""

        def work() -> Described:
            with tempfile.TemporaryDirectory(prefix="tellapart-") as folder:
                upload = keep_upload(photo.file.read(), pixels, Path(folder))
                try:
                    told = describer.describe(upload.file, similar)
                except UnreadableImage as error:
                    raise RejectedUpload("This is no whole image of a kind that can be opened here.") from error
            preview = base64.b64encode(as_jpeg(upload.image, PREVIEW)).decode()
            return Described(
                plain=answers.sentence(told.plain),
                apart=answers.sentence(told.apart),
                similar=answers.found_images(told.similar),
                preview=f"data:image/jpeg;base64,{preview}",
                width=upload.width,
                height=upload.height,
            )

        return await looking.take(work)


async def _say_problem(request: Request, error: Exception) -> JSONResponse:
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), None)
    if status is not None:
        return JSONResponse({"detail": str(error)}, status)
    print(f"{request.url.path}: {error}", file=sys.stderr, flush=True)
    if isinstance(error, UnreadableImage):
        return JSONResponse({"detail": "The file of this image cannot be read; run `tellapart index` again."}, 404)
    return JSONResponse({"detail": "This cannot be done; the server's terminal says why."}, 400)


async def _say_invalid(request: Request, error: Exception) -> JSONResponse:
    """Names what is wrong and never repeats the input, which need not be text that can be sent back."""
    assert isinstance(error, RequestValidationError)
    parts = [f"{'.'.join(str(place) for place in one['loc'])}: {one['msg']}" for one in error.errors()]
    return JSONResponse({"detail": "; ".join(parts).encode("utf-8", "replace").decode()}, 422)


async def _say_refusal(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"detail": error.detail}, error.status_code, error.headers)
