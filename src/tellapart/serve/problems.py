"""Errors as JSON: {"detail": "one plain sentence"}. No sentence names a file or folder of the machine."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tellapart.core.disk_errors import unwritable
from tellapart.core.errors import InputError
from tellapart.images.opening import UnreadableImage
from tellapart.search.table_errors import UnwritableIndex
from tellapart.serve.library import InvalidQuery, UnknownPhoto
from tellapart.serve.schemas import Problem
from tellapart.serve.uploads import RejectedUpload, UploadTooLarge

ADDRESS_PROBLEMS = {404: "This address does not exist.", 405: "This address does not accept this method."}
FULL = "The server cannot write to its disk, which is full or read-only; nothing was changed."
LOG = logging.getLogger(__name__)
STATUS: dict[type[InputError], int] = {InvalidQuery: 400, UnknownPhoto: 404, UploadTooLarge: 413, RejectedUpload: 415}
"""Errors whose messages are safe to send; other messages may name files of the machine."""
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 401, 403, 404, 408, 413, 415, 421, 422, 429, 503, 507)
}


def add_problem_handlers(app: FastAPI) -> None:
    """Answer every error with a `Problem`."""
    app.add_exception_handler(InputError, _input_problem)
    app.add_exception_handler(OSError, _disk_problem)
    app.add_exception_handler(RequestValidationError, _validation_problem)
    app.add_exception_handler(HTTPException, _http_problem)


async def _disk_problem(request: Request, error: Exception) -> JSONResponse:
    LOG.warning("%s: %s", request.url.path, error)
    if unwritable(error):
        return JSONResponse({"detail": FULL}, 507)
    return JSONResponse({"detail": "The server cannot read or write a file now; its terminal shows which."}, 503)


async def _input_problem(request: Request, error: Exception) -> JSONResponse:
    status = next((status for type_, status in STATUS.items() if isinstance(error, type_)), None)
    if status is not None:
        return JSONResponse({"detail": str(error)}, status)
    LOG.warning("%s: %s", request.url.path, error)
    if isinstance(error, UnwritableIndex):
        return JSONResponse({"detail": FULL}, 507)
    if isinstance(error, UnreadableImage):
        return JSONResponse({"detail": "The file of this photo cannot be read; update the index."}, 404)
    return JSONResponse({"detail": "The server cannot do this; its terminal shows the reason."}, 400)


async def _validation_problem(request: Request, error: Exception) -> JSONResponse:
    """Names each invalid argument but never repeats its value, which may not be valid text."""
    assert isinstance(error, RequestValidationError)
    detail = " ".join(_sentence(one) for one in error.errors())
    return JSONResponse({"detail": detail.encode("utf-8", "replace").decode()}, 422)


def _sentence(error: dict[str, Any]) -> str:
    """One sentence about an invalid argument. `loc` starts with the part of the request that holds it.

    >>> _sentence({"loc": ("query", "count"), "type": "greater_than_equal", "msg": "Input should be at least 1"})
    '`count` should be at least 1.'
    >>> _sentence({"loc": ("body", "photo"), "type": "missing", "msg": "Field required"})
    '`photo` is missing.'
    """
    name = ".".join(str(part) for part in error["loc"][1:] or error["loc"])
    if error["type"] == "missing":
        return f"`{name}` is missing."
    subject, verb, rest = error["msg"].partition(" should ")
    return f"`{name}`{verb}{rest}." if subject in ("Input", "String") else f"`{name}`: {error['msg']}."


async def _http_problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    detail = ADDRESS_PROBLEMS.get(error.status_code, error.detail)
    return JSONResponse({"detail": detail}, error.status_code, error.headers)
