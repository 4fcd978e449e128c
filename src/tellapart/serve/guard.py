"""Who may come in, and how much they may bring: hosts, token, sizes and time, before any route sees a request."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PHOTOS = "/api/photos"
SMALL_BODY = 64 * 1024
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
SIGN_IN = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Tellapart</title><form action="/"><p><label>Token <input name="token" type="password" autofocus
autocomplete="current-password"></label> <button>Come in</button></p></form></html>"""


@dataclass(frozen=True)
class Admission:
    """What is asked of a request."""

    token: str = ""
    """Empty asks for none."""
    hosts: frozenset[str] = frozenset()
    """Names the server answers to; empty: any. Keeps a stranger's site from reaching it under a name of its own."""
    upload_bytes: int = 20_000_000
    upload_seconds: float = 60.0

    @property
    def pass_word(self) -> str:
        """What the cookie holds: proof of the token, in letters any cookie can have."""
        return hashlib.sha256(self.token.encode()).hexdigest()

    @property
    def cookie(self) -> str:
        return f"tellapart-{self.pass_word[:8]}"  # one a token, for two servers of one machine share their cookies


class Guard:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        self.app, self.admission = app, admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *extra]}
            await send(message)

        if self._strange_host(headers.get("host", "")):
            await _reject(send_guarded, 421, "This server does not answer to that name; use the address it printed.")
        elif scope["method"] not in ("GET", "HEAD") and headers.get("sec-fetch-site") == "cross-site":
            await _reject(send_guarded, 403, "Another site may not change anything here.")
        elif self.admission.token and not self._known(headers):
            await self._sign_in(scope, send_guarded)
        else:
            most = self.admission.upload_bytes + SMALL_BODY if scope["path"] == PHOTOS else SMALL_BODY
            length = headers.get("content-length", "0")
            if length.isdecimal() and int(length) > most:
                await _reject(send_guarded, 413, _too_much(most))
            else:
                await self.app(scope, self._measured(receive, most), send_guarded)

    def _strange_host(self, host: str) -> bool:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        return bool(self.admission.hosts) and name.lower() not in self.admission.hosts

    def _known(self, headers: dict[str, str]) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(given.strip(), self.admission.token):
            return True
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        held = cookies.get(self.admission.cookie)
        return held is not None and _same(held.value, self.admission.pass_word)

    async def _sign_in(self, scope: Scope, send: Send) -> None:
        """The token in the page's address becomes a cookie, and the address loses it."""
        if scope["path"] != "/":
            await _reject(send, 401, "Give the token: `Authorization: Bearer TOKEN`, or open the page with it first.")
            return
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not _same(given, self.admission.token):
            await _answer(send, 401, SIGN_IN.encode(), "text/html; charset=utf-8")
            return
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        cookie = f"{self.admission.cookie}={self.admission.pass_word}; Path=/; HttpOnly; SameSite=Strict{secure}"
        await _answer(send, 303, b"", "text/plain", (b"location", b"/"), (b"set-cookie", cookie.encode()))

    def _measured(self, receive: Receive, most: int) -> Receive:
        """The body, as long as it is small enough and arrives in time."""
        until = time.monotonic() + self.admission.upload_seconds
        taken, whole = 0, False

        async def measured() -> Message:
            nonlocal taken, whole
            if whole:  # what comes now is only that the client has gone, whenever that is
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
            except TimeoutError as error:
                raise HTTPException(408, "The upload took too long; try again.") from error
            taken += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if taken > most:
                raise HTTPException(413, _too_much(most))
            return message

        return measured


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


def _too_much(most: int) -> str:
    return f"At most {most / 1e6:.2g} MB can be sent; send a smaller photo."


async def _reject(send: Send, status: int, detail: str) -> None:
    await _answer(send, status, json.dumps({"detail": detail}).encode(), "application/json")


async def _answer(send: Send, status: int, body: bytes, kind: str, *headers: tuple[bytes, bytes]) -> None:
    length = str(len(body)).encode()
    plain = [(b"content-type", kind.encode()), (b"content-length", length), *headers]
    await send({"type": "http.response.start", "status": status, "headers": plain})
    await send({"type": "http.response.body", "body": body})
