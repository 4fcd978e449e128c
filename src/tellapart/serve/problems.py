"""Errors as JSON: {"detail": "one plain sentence"}. No sentence names a file or folder of the machine."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tellapart.core.errors import InputError
from tellapart.images.opening import UnreadableImage
from tellapart.serve.library import InvalidQuery, UnknownPhoto
from tellapart.serve.schemas import Problem
from tellapart.serve.uploads import RejectedUpload, UploadTooLarge

LOG = logging.getLogger(__name__)
STATUS: dict[type[InputError], int] = {InvalidQuery: 400, UnknownPhoto: 404, UploadTooLarge: 413, RejectedUpload: 415}
"""Errors whose messages are safe to send; other messages may name files of the machine."""
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 401, 403, 404, 408, 413, 415, 421, 422, 503)
}


def add_problem_handlers(app: FastAPI) -> None:
    """Answer every error with a `Problem`."""
    app.add_exception_handler(InputError, _input_problem)
    app.add_exception_handler(RequestValidationError, _validation_problem)
    app.add_exception_handler(HTTPException, _http_problem)


async def _input_problem(request: Request, error: Exception) -> JSONResponse:
    status = next((status for type_, status in STATUS.items() if isinstance(error, type_)), None)
    if status is not None:
        return JSONResponse({"detail": str(error)}, status)
    LOG.warning("%s: %s", request.url.path, error)
    if isinstance(error, UnreadableImage):
        return JSONResponse({"detail": "The file of this photo cannot be read; update the index."}, 404)
    return JSONResponse({"detail": "The server cannot do this; its terminal shows the reason."}, 400)


async def _validation_problem(request: Request, error: Exception) -> JSONResponse:
    """Names each invalid argument but never repeats its value, which may not be valid text."""
    assert isinstance(error, RequestValidationError)
    parts = [f"{_argument(one['loc'])}: {one['msg']}" for one in error.errors()]
    return JSONResponse({"detail": "; ".join(parts).encode("utf-8", "replace").decode()}, 422)


def _argument(location: tuple[int | str, ...]) -> str:
    """The name of an argument without the part of the request it was read from.

    >>> _argument(("query", "count")), _argument(("body",))
    ('count', 'body')
    """
    return ".".join(str(part) for part in location[1:] or location)


async def _http_problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"detail": error.detail}, error.status_code, error.headers)
