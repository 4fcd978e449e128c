"""The FastAPI application: the page, the JSON API, access rules and errors. /api/openapi.json describes the API."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Response

from tellapart.search.photo_index import PhotoIndex
from tellapart.serve.access import AccessMiddleware, AccessRules
from tellapart.serve.describe import Describer
from tellapart.serve.library import PhotoLibrary
from tellapart.serve.problems import RESPONSES, add_problem_handlers
from tellapart.serve.routes import describe_routes, index_routes, photo_routes

PAGE = Path(__file__).parent / "page"
MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def create_app(
    index: PhotoIndex, rules: AccessRules | None = None, max_upload_pixels: int = 50_000_000, neighbours: int = 10
) -> FastAPI:
    """The application over an index. By default it answers anyone who can reach it.

    neighbours: number of similar photos that a distinctive caption is compared with.
    """
    app = FastAPI(
        title="Tellapart",
        version="1",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        responses=RESPONSES,
        generate_unique_id_function=lambda route: route.name,
    )
    rules = rules or AccessRules()
    app.add_middleware(AccessMiddleware, rules=rules)
    library = PhotoLibrary(index)
    describer = Describer(library, neighbours)
    for file in sorted(file for file in PAGE.iterdir() if file.suffix in MEDIA_TYPES):
        _add_page_file(app, "/" if file.name == "index.html" else f"/{file.name}", file, MEDIA_TYPES[file.suffix])
    app.include_router(index_routes(describer, rules, max_upload_pixels))
    app.include_router(photo_routes(library, rules.originals))
    app.include_router(describe_routes(describer, max_upload_pixels))
    add_problem_handlers(app)
    return app


def _add_page_file(app: FastAPI, path: str, file: Path, media_type: str) -> None:
    def page_file() -> Response:
        return Response(file.read_bytes(), media_type=media_type, headers={"cache-control": "no-cache"})

    app.add_api_route(path, page_file, include_in_schema=False)
